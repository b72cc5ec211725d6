/** What an upstream does on a connection, byte by byte. */

export type Step =
  | { readonly do: 'write'; readonly bytes: Uint8Array }
  /** A byte at a time, each in a packet of its own. */
  | { readonly do: 'trickle'; readonly bytes: Uint8Array }
  /** Again and again, until the other side leaves. */
  | { readonly do: 'repeat'; readonly bytes: Uint8Array; readonly pauseMs: number }
  | { readonly do: 'pause'; readonly ms: number }
  /** Until the caller has what was sent: a connection that breaks takes with it what is still on its way. */
  | { readonly do: 'wait for the caller' }
  | { readonly do: 'reset' }
  | { readonly do: 'close' }
  /** Nothing more comes, and the line stays open. */
  | { readonly do: 'stall' }
  /** The answer is over; the connection can serve the next request. */
  | { readonly do: 'be done' }

export interface Script {
  /** As soon as somebody has connected, has sent the head of a request, or all of it. */
  readonly begins: 'at connect' | 'at the head' | 'at the request'
  readonly steps: readonly Step[]
}

const utf8 = new TextEncoder()

export const bytesOf = (text: string): Uint8Array => utf8.encode(text)

export const write = (bytes: Uint8Array | string): Step => ({
  do: 'write',
  bytes: typeof bytes === 'string' ? bytesOf(bytes) : bytes,
})

// ── answers in the words of HTTP ────────────────────────────────────────────────────────────────────────────────────

/** How the receiver is told where a body ends. */
export interface Framing {
  readonly header: string
  wrap(piece: Uint8Array): Uint8Array
  /** What says that it ends here. */
  readonly end: readonly Step[]
}

export const chunked: Framing = {
  header: 'transfer-encoding: chunked',
  wrap: piece => join([bytesOf(`${piece.byteLength.toString(16)}\r\n`), piece, bytesOf('\r\n')]),
  end: [write('0\r\n\r\n'), { do: 'be done' }],
}

export const promising = (bytes: number): Framing => ({
  header: `content-length: ${bytes}`,
  wrap: piece => piece,
  end: [{ do: 'be done' }],
})

/** Whoever sends it so cannot be told from one who breaks off. */
export const untilClosed: Framing = { header: 'connection: close', wrap: piece => piece, end: [{ do: 'close' }] }

export interface Head {
  readonly status?: number
  readonly type?: string | undefined
  readonly headers?: readonly string[]
}

export const statusLine = (status: number): string => `HTTP/1.1 ${status} As it is\r\n`

export function headers(framing: Framing, { type, headers: more = [] }: Head): string {
  const lines = [...(type === undefined ? [] : [`content-type: ${type}`]), ...more, framing.header]
  return `${lines.join('\r\n')}\r\n\r\n`
}

export const head = (framing: Framing, given: Head): string => statusLine(given.status ?? 200) + headers(framing, given)

/** A complete answer of HTTP, whatever it may say. */
export const message = (body: string | Uint8Array, given: Head = {}): readonly Step[] => {
  const bytes = typeof body === 'string' ? bytesOf(body) : body
  const framing = promising(bytes.byteLength)
  return [write(join([bytesOf(head(framing, given)), bytes])), ...framing.end]
}

export function join(pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0))
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.byteLength
  }
  return all
}
