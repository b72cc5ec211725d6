import { chmodSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { newSecret } from '../core/ids.ts'
import { late } from '../core/late.ts'
import { type FoundSecret, findSecret, OWNER_ONLY, writeWhole } from './secret-file.ts'

const NAME = 'admin-token'
const TOKEN_BYTES = 32

/** From the environment, or generated; replicas make theirs of the secret that they share, so that all take the same one. */
export function findAdminToken({ adminToken: given, dataFolder: folder, databaseUrl, secret }: Config): FoundSecret {
  const isShared = databaseUrl !== undefined && secret !== undefined
  if (given || !isShared) return findSecret({ given, folder, name: NAME, generate: () => named(newSecret()) })
  const token = named(derived(secret))
  return { secret: token, path: keep(token, folder) }
}

const named = (text: string): string => `duet-admin-${text}`

/** Not a signature like others: of those, callers choose the text, and some of them are stored. */
const derived = (secret: string): string =>
  Buffer.from(late.crypto.hkdfSync('sha256', secret, '', 'duet admin token', TOKEN_BYTES)).toString('base64url')

/** For the command line on the same machine. A container may have no place to write to, and can do without. */
function keep(token: string, folder: string): string | undefined {
  const path = join(folder, NAME)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (textOf(path) !== token) writeWhole(path, `${token}\n`)
    chmodSync(path, OWNER_ONLY)
    return path
  } catch {
    return undefined
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}
