import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newSecret } from '../core/ids.ts'

export interface AdminToken {
  readonly token: string
  /** Where it was generated; undefined for one from the environment. */
  readonly path: string | undefined
}

const OWNER_ONLY = 0o600

/** From the environment, or from a file that only the owner can read, made on the first start. */
export function findAdminToken(given: string | undefined, dataFolder: string): AdminToken {
  if (given) return { token: given, path: undefined }
  const path = join(dataFolder, 'admin-token')
  if (!existsSync(path)) writeFileSync(path, `duet-admin-${newSecret()}\n`, { mode: OWNER_ONLY })
  chmodSync(path, OWNER_ONLY)
  return { token: readFileSync(path, 'utf8').trim(), path }
}
