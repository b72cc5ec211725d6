import { GatewayError } from '../core/failure.ts'
import { late } from '../core/late.ts'
import { decodeText } from '../protocol/body-text.ts'

export interface BodyLimits {
  /** Of the decoded body: a small archive may hold gigabytes. */
  readonly bytesMax: number
  /** From the headers to the last byte. */
  readonly secondsMax: number
}

type Decoder = (bytes: Uint8Array, options: { maxOutputLength: number }, done: Callback) => void
type Callback = (error: Error | null, decoded: Uint8Array) => void

const DECODERS: Readonly<Record<string, () => Decoder>> = {
  gzip: () => late.zlib.gunzip,
  'x-gzip': () => late.zlib.gunzip,
  deflate: () => late.zlib.inflate,
  br: () => late.zlib.brotliDecompress,
  zstd: () => late.zlib.zstdDecompress,
}

/** The body as text, within its limits, whatever its content type says. */
export async function readBody(request: Request, limits: BodyLimits): Promise<string> {
  return decodeText(await readBytes(request, limits))
}

/** The same as the bytes of that text. */
export async function readBytes(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? ''
  if (encoding === '' || encoding === 'identity') return receive(request, limits)
  const decoder = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding] : undefined
  if (!decoder) throw new GatewayError({ kind: 'body-encoding-unknown', encoding })
  return decode(await receive(request, limits), decoder(), limits)
}

function receive(request: Request, { bytesMax, secondsMax }: BodyLimits): Promise<Uint8Array> {
  const length = request.headers.get('content-length')
  if (Number(length) > bytesMax) throw tooLarge(bytesMax)
  // A body that says how long it is cannot become longer. Reading it in one go takes half the time of reading pieces.
  const reader = length === null ? request.body?.getReader() : undefined
  if (length === null && !reader) return Promise.resolve(new Uint8Array())
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      clearTimeout(timer)
      reader?.cancel().catch(() => {})
      reject(error instanceof GatewayError ? error : new GatewayError({ kind: 'client-gone' }, error))
    }
    const late = () => fail(new GatewayError({ kind: 'body-timeout', limitSeconds: secondsMax }))
    const timer = setTimeout(late, secondsMax * 1000)
    const bytes = reader ? collect(reader, bytesMax) : request.bytes()
    bytes.then(all => {
      clearTimeout(timer)
      resolve(all)
    }, fail)
  })
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
