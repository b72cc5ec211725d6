import { LineCut } from './answer-reader.ts'
import type { Asked, Incoming } from './call.ts'
import { lengthOf } from './request.ts'

/** What the runtime's client calls a connection that the other side has closed or reset. */
const CUT: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'ConnectionClosed'])

/**
 * The same call by the runtime's own client, which knows how to go through a proxy. A stream as its body, because nothing
 * else tells when a connection is there: it is asked for the body then, and not before.
 */
export class FetchedCall implements Incoming {
  private readonly cancelled = new AbortController()
  private reader: { read(): Promise<{ readonly value?: Uint8Array }> } | undefined

  constructor(asked: Asked) {
    this.fetch(asked).catch((error: Error & { readonly code?: unknown }) =>
      asked.failed(CUT.has(error.code) ? new LineCut(error) : error),
    )
  }

  private async fetch({ target, headers, body, ...asked }: Asked): Promise<void> {
    const response = await fetch(target.url, {
      method: 'POST',
      headers: { ...headers, 'content-length': String(lengthOf(body)) },
      body: sentWhole(body, () => asked.connected()),
      signal: this.cancelled.signal,
      // A redirect would carry the credential to an address nobody configured.
      redirect: 'manual',
      // Bun's own limit of five minutes would cut long thoughts; ours are per channel.
      timeout: false,
    })
    this.reader = response.body?.getReader()
    const { status, headers: said } = response
    // It has been unpacked already.
    asked.answered({ status, get: name => (name === 'content-encoding' ? null : said.get(name)) })
  }

  async read(): Promise<Uint8Array | undefined> {
    return (await this.reader?.read())?.value
  }

  cancel(): void {
    this.cancelled.abort()
  }

  distrust(): void {
    this.cancel()
  }
}

const sentWhole = (body: Asked['body'], connected: () => void): ReadableStream =>
  new ReadableStream({
    type: 'direct',
    pull(controller) {
      connected()
      for (const piece of typeof body === 'string' ? [body] : body) controller.write(piece)
      controller.end()
    },
  })
