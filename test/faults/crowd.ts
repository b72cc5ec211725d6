import type { Duet, JsonBody } from '../support/duet.ts'
import { framesOf } from '../support/http.ts'
import type { ProtocolName } from '../support/wire.ts'
import { pathOf, requestFor, type Tokens, WAYS, type Way } from './support.ts'

/** What a client knows of one of its requests. */
export interface Heard {
  readonly client: number
  readonly requestId: string
  readonly status: number
  /** It holds the answer from its first byte to its last, was told of a failure, or neither. */
  readonly ending: 'whole' | 'failed' | 'cut'
  /** What the answer said about its price, as far as it came. */
  readonly told: Told | undefined
}

interface Told {
  readonly tokens: Tokens
  readonly cost: string
}

interface CrowdOptions {
  readonly clients: number
  /** Each client may ask no more than this often. */
  readonly requestsMax: number
  /** The key of a client. */
  readonly key: (client: number) => string
}

/** Where to ask; another one each time, if there are several. */
type Server = Pick<Duet, 'url'>

/** Who was refused for want of money tries again after a moment, like anybody else. */
const REFUSED_PAUSE_MS = 30

/** Many clients that ask one thing after the other, whatever becomes of the server meanwhile. */
export class Crowd {
  readonly heard: Heard[] = []
  /** Requests that ended without as much as a status. */
  unanswered = 0
  asking = 0
  private readonly options: CrowdOptions
  private isOver = false
  private server: PromiseWithResolvers<Server> = Promise.withResolvers()
  private readonly clients: Promise<void>[]

  constructor(options: CrowdOptions) {
    this.options = options
    this.clients = Array.from({ length: options.clients }, (_, client) => this.run(client))
  }

  /** From now on, whoever is done with a request waits for a server. */
  wait(): void {
    this.server = Promise.withResolvers()
  }

  goOn(duet: Server): void {
    this.server.resolve(duet)
  }

  /** Nobody asks any more; resolves when all have gone. */
  async end(duet: Server): Promise<void> {
    this.isOver = true
    this.goOn(duet)
    await Promise.all(this.clients)
  }

  private async run(client: number): Promise<void> {
    for (let asked = 0; asked < this.options.requestsMax; asked++) {
      const duet = await this.server.promise
      if (this.isOver) return
      const heard = await this.ask(duet, client, asked)
      if (heard === undefined) this.unanswered++
      else this.heard.push(heard)
      if (heard?.status === 403) await Bun.sleep(REFUSED_PAUSE_MS)
    }
  }

  private async ask(duet: Server, client: number, asked: number): Promise<Heard | undefined> {
    const way = WAYS[(client + asked) % WAYS.length] as Way
    this.asking++
    try {
      const heard = await converse(duet, way, this.options.key(client))
      return heard && { ...heard, client }
    } finally {
      this.asking--
    }
  }
}

async function converse({ url }: Server, way: Way, key: string): Promise<Omit<Heard, 'client'> | undefined> {
  const response = await fetch(url + pathOf(way), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(requestFor(way, question(), { max_tokens: 100 })),
  }).catch(() => undefined)
  if (response === undefined) return undefined
  const text = await readAll(response)
  const requestId = response.headers.get('x-request-id') ?? ''
  return { requestId, status: response.status, ...judge(way, response.status, text) }
}

/** Answers of many sizes after many delays, so that a kill finds requests at every point of their way. */
function question(): string {
  const upTo = (limit: number) => 1 + Math.floor(Math.random() * limit)
  const mishap = ['', '', '', '', '', '', '[[no-usage]]', '[[cut 5]]', '[[error 500]]'][upTo(9) - 1]
  return `Tell me something. [[tokens ${upTo(80)}]] [[delay ${upTo(60)}ms]] ${mishap}`
}

/** What has arrived, however it ended. */
async function readAll(response: Response): Promise<string> {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (let read = await reader?.read(); read?.value; read = await reader?.read()) {
      text += decoder.decode(read.value, { stream: true })
    }
  } catch {
    // The server is gone; the client has what it has.
  }
  return text
}

function judge(way: Way, status: number, text: string): Pick<Heard, 'ending' | 'told'> {
  const bodies: JsonBody[] = way.stream && status === 200 ? framesOf(text).map(({ json }) => json) : [parse(text)]
  const usage = bodies.findLast(body => body?.usage?.cost !== undefined)?.usage
  const isFailed = bodies.some(body => body?.error !== undefined)
  const isWhole = status === 200 && !isFailed && hasEnd(way, text)
  return { ending: isFailed ? 'failed' : isWhole ? 'whole' : 'cut', told: usage && readTold(way.client, usage) }
}

function hasEnd({ client, stream }: Way, text: string): boolean {
  if (!stream) return parse(text) !== undefined
  const last = framesOf(text).at(-1)
  return client === 'messages' ? last?.event === 'message_stop' : last?.data === '[DONE]'
}

const readTold = (client: ProtocolName, usage: JsonBody): Told => ({
  cost: usage.cost,
  tokens:
    client === 'chat'
      ? {
          input:
            usage.prompt_tokens -
            usage.prompt_tokens_details.cached_tokens -
            usage.prompt_tokens_details.cache_write_tokens,
          cache_read: usage.prompt_tokens_details.cached_tokens,
          cache_write: usage.prompt_tokens_details.cache_write_tokens,
          output: usage.completion_tokens,
        }
      : {
          input: usage.input_tokens,
          cache_read: usage.cache_read_input_tokens,
          cache_write: usage.cache_creation_input_tokens,
          output: usage.output_tokens,
        },
})

function parse(text: string): JsonBody {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
