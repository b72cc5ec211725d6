import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib'
import { GatewayError } from '../core/failure.ts'

export interface BodyLimits {
  /** Of the decoded body: a small archive may hold gigabytes. */
  readonly bytesMax: number
  /** From the headers to the last byte. */
  readonly secondsMax: number
}

type Decoder = (bytes: Uint8Array, options: { maxOutputLength: number }, done: Callback) => void
type Callback = (error: Error | null, decoded: Uint8Array) => void

const DECODERS: Readonly<Record<string, Decoder>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  deflate: inflate,
  br: brotliDecompress,
  zstd: zstdDecompress,
}

/** The body as text, within its limits, whatever its content type says. */
export async function readBody(request: Request, limits: BodyLimits): Promise<string> {
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? ''
  const isPlain = encoding === '' || encoding === 'identity'
  const decoder = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding] : undefined
  if (!isPlain && !decoder) throw new GatewayError({ kind: 'body-encoding-unknown', encoding })
  const bytes = await receive(request, limits)
  return decodeText(decoder ? await decode(bytes, decoder, limits) : bytes)
}

function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new GatewayError({ kind: 'body-not-json' }, cause)
  }
}

async function receive(request: Request, { bytesMax, secondsMax }: BodyLimits): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length')) > bytesMax) throw tooLarge(bytesMax)
  const reader = request.body?.getReader()
  if (!reader) return new Uint8Array()
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new GatewayError({ kind: 'body-timeout', limitSeconds: secondsMax })),
      secondsMax * 1000,
    )
  })
  try {
    return await Promise.race([collect(reader, bytesMax), timeout])
  } catch (error) {
    reader.cancel().catch(() => {})
    throw error instanceof GatewayError ? error : new GatewayError({ kind: 'client-gone' }, error)
  } finally {
    clearTimeout(timer)
  }
}

async function collect(
  reader: { read(): Promise<{ done: boolean; value?: Uint8Array }> },
  bytesMax: number,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for (let read = await reader.read(); read.value; read = await reader.read()) {
    bytes += read.value.byteLength
    if (bytes > bytesMax) throw tooLarge(bytesMax)
    chunks.push(read.value)
  }
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks)
}

function decode(bytes: Uint8Array, decoder: Decoder, { bytesMax }: BodyLimits): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    decoder(bytes, { maxOutputLength: bytesMax }, (error, decoded) => {
      if (!error) return resolve(decoded)
      const isTooLarge = 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
      reject(isTooLarge ? tooLarge(bytesMax) : new GatewayError({ kind: 'body-not-json' }, error))
    })
  })
}

const tooLarge = (limitBytes: number) => new GatewayError({ kind: 'body-too-large', limitBytes })
