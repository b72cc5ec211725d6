import type { NewKey } from './directory.ts'
import { newHex } from './ids.ts'

/** Secrets have 256 random bits, so a plain fast hash protects them; only the hash is ever stored or looked up. */
export const hashSecret = (secret: string): string => Bun.SHA256.hash(secret, 'hex')

export interface KeyOwner {
  readonly accountId: string
  readonly name: string
  readonly createdAt: number
}

/** What a key is made of before anyone limits it. */
export function newKey(secret: string, owner: KeyOwner): NewKey {
  return {
    ...owner,
    id: `key_${newHex(10)}`,
    secretHash: hashSecret(secret),
    hint: `${secret.slice(0, 8)}…${secret.slice(-4)}`,
    cap: undefined,
    models: undefined,
    expiresAt: undefined,
  }
}
