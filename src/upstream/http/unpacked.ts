import type { Transform } from 'node:stream'
import { late } from '../../core/late.ts'
import type { Incoming } from './call.ts'

const CODINGS: Readonly<Record<string, () => Transform>> = {
  gzip: () => late.zlib.createGunzip(),
  'x-gzip': () => late.zlib.createGunzip(),
  deflate: () => late.zlib.createInflate(),
  br: () => late.zlib.createBrotliDecompress(),
  zstd: () => late.zlib.createZstdDecompress(),
}

/** The same answer, unpacked as it is read. Nobody asks for packed ones; some send them all the same. */
export function unpacked(incoming: Incoming, coding: string | null): Incoming {
  const name = coding?.toLowerCase() ?? 'identity'
  if (name === 'identity' || name === '') return incoming
  const unpack = Object.hasOwn(CODINGS, name) ? CODINGS[name] : undefined
  // Some name a character set here. What cannot be read is found out by whoever reads it.
  if (!unpack) return incoming
  const transform = unpack()
  const { pipeline, Readable } = late.stream
  // How it ended is told to whoever reads.
  pipeline(Readable.from(piecesOf(incoming)), transform, () => {})
  const pieces: AsyncIterator<Uint8Array, undefined> = transform[Symbol.asyncIterator]()
  const cancel = () => {
    incoming.cancel()
    transform.destroy()
  }
  const read = async () => {
    try {
      return (await pieces.next()).value
    } catch (error) {
      incoming.distrust()
      throw error
    }
  }
  return { read, cancel, distrust: cancel }
}

async function* piecesOf(incoming: Incoming): AsyncGenerator<Uint8Array> {
  for (let bytes = await incoming.read(); bytes; bytes = await incoming.read()) yield bytes
}
