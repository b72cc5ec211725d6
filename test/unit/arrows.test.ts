import { expect, test } from 'bun:test'
import { dirname, join, normalize, relative } from 'node:path'

/** Who may import whom. `core` imports nothing; siblings do not import each other; only `app.ts` knows the store. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  protocol: ['core'],
  ledger: ['core'],
  metering: ['core'],
  routing: ['core'],
  upstream: ['core'],
  notices: ['core'],
  store: ['core'],
  // From one store to another, with the books checked on both sides.
  move: ['store', 'ledger', 'core'],
  config: ['core'],
  telemetry: ['core'],
  sandbox: [],
  gateway: ['protocol', 'ledger', 'metering', 'routing', 'upstream', 'core'],
  setup: ['config', 'ledger', 'sandbox', 'core'],
  // The words of the file are the words of the API: one schema says them to both.
  admin: ['ledger', 'routing', 'config', 'core'],
  http: ['gateway', 'admin', 'protocol', 'telemetry', 'core'],
}

const SRC = join(import.meta.dir, '../../src')

test('imports point one way', async () => {
  const wrong: string[] = []
  for await (const file of new Bun.Glob('*/**/*.ts').scan(SRC)) {
    const folder = file.slice(0, file.indexOf('/'))
    const allowed = MAY_IMPORT[folder]
    if (!allowed) continue
    const text = await Bun.file(join(SRC, file)).text()
    for (const [, path = ''] of text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)) {
      const target = normalize(join(dirname(file), path))
      const targetFolder = target.includes('/') ? target.slice(0, target.indexOf('/')) : 'src'
      if (targetFolder !== folder && !allowed.includes(targetFolder))
        wrong.push(`${file} imports ${relative('.', target)}`)
    }
  }
  expect(wrong).toEqual([])
})

test('every folder of src has its place in the order, or wires the others', async () => {
  const folders = new Set<string>()
  for await (const file of new Bun.Glob('*/**/*.ts').scan(SRC)) folders.add(file.slice(0, file.indexOf('/')))
  expect([...folders].filter(folder => !(folder in MAY_IMPORT))).toEqual(['cli'])
})
