import { deserialize } from 'bun:jsc'
import { join } from 'node:path'

export interface Asset {
  readonly type: string
  readonly plain: Uint8Array<ArrayBuffer>
  readonly br: Uint8Array<ArrayBuffer>
  readonly gzip: Uint8Array<ArrayBuffer>
}

export interface Bundle {
  readonly html: Asset
  /** Changes with the page, and with every asset it names. */
  readonly etag: string
  /** By name; a name has a hash of its content, so that a browser may keep it for ever. */
  readonly assets: ReadonlyMap<string, Asset>
}

export const ASSETS = '/console/assets/'

const BUILDER = join(import.meta.dir, 'build.ts')
/** It takes a second on an idle machine. */
const BUILD_MS_MAX = 60_000
/** Many times what the console has. */
const BUNDLE_BYTES_MAX = 64 * 1024 * 1024

/**
 * The whole console, in memory. It is made by a process of its own: what the bundler takes, some 13 MB, is never given
 * back by the process it runs in, which would carry it from the first visit on.
 */
export async function buildBundle(): Promise<Bundle> {
  const builder = Bun.spawn([process.execPath, BUILDER], {
    // It needs no setting, and least of all our secrets; nor what may lie in the folder that Duet was started in.
    env: {},
    cwd: import.meta.dir,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: BUILD_MS_MAX,
    maxBuffer: BUNDLE_BYTES_MAX,
  })
  const [bundle, complaint] = await Promise.all([
    new Response(builder.stdout).arrayBuffer(),
    new Response(builder.stderr).text(),
  ])
  if ((await builder.exited) !== 0) throw new Error(complaint.trim() || 'the bundler did not finish')
  return deserialize(bundle) as Bundle
}
