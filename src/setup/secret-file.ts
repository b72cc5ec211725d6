import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A secret and where it was generated; undefined for one from the environment. */
export interface FoundSecret {
  readonly secret: string
  readonly path: string | undefined
}

export interface SecretFile {
  /** From the environment. */
  readonly given: string | undefined
  readonly folder: string
  readonly name: string
  generate(): string
}

export const OWNER_ONLY = 0o600
const CHARACTERS_MIN = 16

/** From the environment, or from a file that only the owner can read, made on the first start. */
export function findSecret({ given, folder, name, generate }: SecretFile): FoundSecret {
  if (given) return { secret: given, path: undefined }
  const path = join(folder, name)
  if (!existsSync(path)) writeWhole(path, `${generate()}\n`)
  chmodSync(path, OWNER_ONLY)
  const secret = readFileSync(path, 'utf8').trim()
  // What is sealed with a secret that was cut short is not sealed.
  if (secret.length < CHARACTERS_MIN) throw new Error(`${path} must hold at least ${CHARACTERS_MIN} characters`)
  return { secret, path }
}

/** Whoever is interrupted leaves nothing, instead of half a secret. */
export function writeWhole(path: string, text: string): void {
  const unfinished = `${path}.new`
  writeFileSync(unfinished, text, { mode: OWNER_ONLY })
  renameSync(unfinished, path)
}
