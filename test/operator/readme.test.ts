import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Duet, startDuet } from '../support/duet.ts'

const ROOT = join(import.meta.dir, '../..')
const README = await Bun.file(join(ROOT, 'README.md')).text()

const blocks = (language: string) =>
  [...README.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, text = '']) => text)

describe('what the README says to paste works', () => {
  let duet: Duet
  /** Inside the tree, so that the examples find the official clients. */
  const folder = join(ROOT, 'node_modules/.readme-examples')

  beforeAll(async () => {
    duet = await startDuet({ env: { DUET_ADMIN_TOKEN: '' } })
    mkdirSync(folder, { recursive: true })
  })
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    await duet.stop()
  })

  const here = (text: string) => text.replaceAll('http://127.0.0.1:7070', duet.url)

  async function run(command: string[]): Promise<string> {
    const env = { PATH: process.env.PATH ?? '', DUET_KEY: duet.key }
    const child = Bun.spawn(command, { cwd: duet.folder, env, stdout: 'pipe', stderr: 'pipe' })
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    if ((await child.exited) !== 0) throw new Error(err)
    return out
  }

  test('the curl lines of both protocols', async () => {
    const block = blocks('sh').find(text => text.includes('/v1/chat/completions')) ?? ''
    const out = await run([
      'sh',
      '-c',
      here(block)
        .replace(/^export .*$/m, '')
        .replaceAll('curl ', 'curl -sSf '),
    ])
    expect(out).toContain('"object":"chat.completion"')
    expect(out).toContain('"type":"message"')
  })

  test('the lines of the management API', async () => {
    const block = blocks('sh').find(text => text.includes('/api/accounts')) ?? ''
    const out = await run(['sh', '-ec', here(block).replaceAll('curl ', 'curl -sSf ')])
    expect(out).toContain('"name":"team-b"')
    expect(out).toContain('"key":"sk-duet-')
    expect(out).toContain('"balance":"35.00"')
  })

  test('the lines of the command line', async () => {
    const block = blocks('sh').find(text => text.includes('bin/duet accounts')) ?? ''
    const lines = block.replaceAll('bin/duet', join(ROOT, 'bin/duet'))
    // Beside the data folder it finds the token by itself; only the port is not the usual one here.
    const out = await run(['sh', '-ec', `export DUET_URL=${duet.url}\n${lines}`])
    expect(out).toMatch(/^sk-duet-\S{43}$/m)
    expect(out).toContain('35.00')
    expect(out).toContain('everything adds up')
  })

  for (const [place, block] of blocks('ts').entries()) {
    test(`the example of client ${place + 1}`, async () => {
      const file = join(folder, `example-${place}.ts`)
      writeFileSync(file, here(block))
      expect(await run([process.execPath, file])).toContain('Hello')
    })
  }

  test('the duet.yaml', async () => {
    const [yaml = ''] = blocks('yaml')
    const configured = await startDuet({ config: yaml, env: { ACME_API_KEY: 'a-key-of-acme' } })
    const { body } = await configured.admin('GET', '/api/channels')
    expect(body.data[0].models).toEqual({ 'acme/swift-2': 'swift-2-large' })
    await configured.stop()
  })
})

test('every page that a document links to is there', async () => {
  const missing: string[] = []
  for await (const page of new Bun.Glob('{*.md,docs/**/*.md}').scan(ROOT)) {
    const text = await Bun.file(join(ROOT, page)).text()
    for (const [, link = ''] of text.matchAll(/\]\((?!https?:)([^)#]+)\)/g)) {
      const target = join(ROOT, page, '..', link)
      if (!(await Bun.file(target).exists()) && !(await Bun.file(join(target, 'README.md')).exists()))
        missing.push(`${page}: ${link}`)
    }
  }
  expect(missing).toEqual([])
})

for (const page of ['lifecycle', 'ledger']) {
  test(`every file that docs/${page}.md names is there`, async () => {
    const text = await Bun.file(join(ROOT, `docs/${page}.md`)).text()
    const named = [...text.matchAll(/`((?:src|test)\/[\w/.-]+\.ts)`/g)].map(([, path = '']) => path)
    expect(named.length).toBeGreaterThan(5)
    for (const path of named) expect(await Bun.file(join(ROOT, path)).exists()).toBe(true)
  })
}
