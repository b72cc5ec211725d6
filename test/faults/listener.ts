import type { Duet, JsonBody } from '../support/duet.ts'
import { type Answer, framesOf } from '../support/http.ts'
import { streamedText } from '../support/wire.ts'
import { pathOf, type Way } from './support.ts'

interface Asking {
  readonly key: string
  readonly request: JsonBody
  readonly headers?: Readonly<Record<string, string>>
}

interface Reader {
  read(): Promise<{ readonly value?: Uint8Array | undefined }>
}

/** A client with one request under way, who reads as far as it is told to, and may leave. */
export class Listener {
  text = ''
  leftAt: number | undefined
  private readonly way: Way
  private readonly abort = new AbortController()
  private readonly decoder = new TextDecoder()
  private readonly response: Promise<Response>
  private reader: Promise<Reader | undefined> | undefined

  constructor(duet: Pick<Duet, 'url'>, way: Way, { key, request, headers }: Asking) {
    this.way = way
    this.response = fetch(duet.url + pathOf(way), {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, ...headers },
      body: JSON.stringify(request),
      signal: this.abort.signal,
    })
    // Whoever leaves does not want to hear of it.
    this.response.catch(() => {})
  }

  /** Reads until the stream has said all of this; false if it ends before. */
  async readUntil(said: string): Promise<boolean> {
    while (streamedText(this.way.client, framesOf(this.text)) !== said) if (!(await this.read())) return false
    return true
  }

  /** Reads the rest. */
  async readAll(): Promise<Answer> {
    while (await this.read());
    const { status, headers } = await this.response
    return { status, headers, text: this.text, body: this.text.startsWith('{') ? JSON.parse(this.text) : undefined }
  }

  leave(): void {
    this.leftAt = performance.now()
    this.abort.abort()
  }

  private async read(): Promise<boolean> {
    this.reader ??= this.response.then(({ body }) => body?.getReader())
    const read = await (await this.reader)?.read()
    if (!read?.value) return false
    this.text += this.decoder.decode(read.value, { stream: true })
    return true
  }
}
