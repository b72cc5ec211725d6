import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import type { Sealer } from './seal.ts'

/** Answers of calls that were given a name (`idempotency-key`): whoever asks again under it gets the same one. */

/** Whose name it is: two keys that use the same one know nothing of each other. */
export interface AnswerName {
  readonly keyId: string
  /** As `nameHash` made it. */
  readonly nameHash: string
}

export interface StoredAnswer extends AnswerName {
  /** Of the request that was answered: another one under its name is a mistake. */
  readonly fingerprint: string
  readonly requestId: string
  readonly headers: Readonly<Record<string, string>>
  readonly isStream: boolean
  /** As `sealBody` made it; undefined for one that was too large to be kept. */
  readonly sealed: Uint8Array | undefined
  readonly expiresAt: number
}

/** They are written with the charge (`Closing.answer`): an answer that was paid for and one that is stored are the same. */
export interface Answers {
  /** Undefined where there is none, or its time is over. */
  find(name: AnswerName, now: number): Promise<StoredAnswer | undefined>
  /** Forgets what has expired; returns how many bytes are left. */
  purge(now: number): Promise<number>
}

/** Signed and not only hashed: a name may be short, and who has the database must not be able to try out names or prompts. */
export const nameHash = (name: string, sealer: Sealer): string => sealer.sign(`idempotency-key ${name}`)

export const fingerprint = (protocol: string, text: string, sealer: Sealer): string =>
  sealer.sign(`request ${protocol} ${text}`)

const compress = promisify<Uint8Array, Buffer>(zstdCompress)
const decompress = promisify<Uint8Array, { maxOutputLength: number }, Buffer>(zstdDecompress)

/** The frames of a stream are nearly the same over and over: a tenth of them is left. */
export const sealBody = async (body: Uint8Array, sealer: Sealer): Promise<Uint8Array> =>
  sealer.sealBytes(await compress(body))

/** Throws for what was sealed with another secret, or is larger than anything that is sealed. */
export const openBody = (sealed: Uint8Array, sealer: Sealer, bytesMax: number): Promise<Uint8Array> =>
  decompress(sealer.openBytes(sealed), { maxOutputLength: bytesMax })
