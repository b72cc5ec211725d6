import { promisify } from 'node:util'
import { late } from './late.ts'
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
  /** As `sealBody` made it; undefined for one that could not be kept. */
  readonly sealed: Uint8Array | undefined
  readonly expiresAt: number
}

/** They are written with the charge (`Closing.answer`): an answer that was paid for and one that is stored are the same. */
export interface Answers {
  /** Undefined where there is none, or its time is over. */
  find(name: AnswerName, now: number): Promise<StoredAnswer | undefined>
  /** Forgets what has expired; returns how many bytes are left, by key. */
  purge(now: number): Promise<ReadonlyMap<string, number>>
}

/** Signed and not only hashed: a name may be short, and who has the database must not be able to try out names or prompts. */
export const nameHash = (name: string, sealer: Sealer): string => sealer.sign(`idempotency-key ${name}`)

interface Request {
  readonly protocol: string
  /** Those that have a say in the answer. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export const fingerprint = ({ protocol, headers, text }: Request, sealer: Sealer): string =>
  sealer.sign(`request ${JSON.stringify([protocol, headers])} ${text}`)

const compress = (bytes: Uint8Array) => promisify<Uint8Array, Buffer>(late.zlib.zstdCompress)(bytes)
const decompress = (bytes: Uint8Array, limits: { maxOutputLength: number }) =>
  promisify<Uint8Array, typeof limits, Buffer>(late.zlib.zstdDecompress)(bytes, limits)

const LENGTH_BYTES = 4

/** The frames of a stream are nearly the same over and over: a tenth of them is left. */
export async function sealBody(body: Uint8Array, sealer: Sealer): Promise<Uint8Array> {
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(body.byteLength)
  return sealer.sealBytes(Buffer.concat([length, await compress(body)]))
}

export interface OpenedBody {
  /** Whoever has no room for so many need not unpack them. */
  readonly bytes: number
  unpack(): Promise<Uint8Array>
}

/** Throws for what was sealed with another secret. */
export function openBody(sealed: Uint8Array, sealer: Sealer): OpenedBody {
  const opened = Buffer.from(sealer.openBytes(sealed))
  const bytes = opened.readUInt32BE()
  return { bytes, unpack: () => decompress(opened.subarray(LENGTH_BYTES), { maxOutputLength: bytes }) }
}
