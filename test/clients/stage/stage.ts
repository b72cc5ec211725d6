import { after, before, test } from 'node:test'
import { type Duet, PROTOCOLS, type Protocol, startDuet } from './duet.ts'
import { launch, newFolder, type Running, removeFolder } from './process.ts'

export interface Stage {
  readonly duet: Duet
}

/** One Duet for the file, before one sandbox that speaks both protocols. */
export function useSandbox(): Stage {
  const folder = newFolder()
  let sandbox: Running | undefined
  let duet: Duet | undefined
  before(async () => {
    sandbox = await launch(['sandbox', '--port', '0', '--json'], { folder, ready: /"url":"([^"]+)"/ })
    duet = await startDuet(sandbox.found)
  })
  after(async () => {
    await duet?.stop()
    await sandbox?.stop()
    removeFolder(folder)
  })
  return {
    get duet() {
      if (duet === undefined) throw new Error('Duet has not started')
      return duet
    },
  }
}

/** The other protocol is what these tests are about; with its own the client must see the same. */
export function eachUpstream(title: string, run: (upstream: Protocol) => Promise<void>): void {
  for (const upstream of PROTOCOLS) test(`${title} (${upstream} upstream)`, () => run(upstream))
}
