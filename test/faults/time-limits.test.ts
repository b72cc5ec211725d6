import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { RawConnection } from '../hostile/raw.ts'
import { torrent } from '../hostile/torrent.ts'
import { type Duet, startDuet } from '../support/duet.ts'
import { type Answer, framesOf, post } from '../support/http.ts'
import { eventStream, type ScriptedUpstream, scriptUpstream, type UpstreamVisit } from '../support/upstream.ts'
import { openingFrames, protocolOf } from '../support/vendor.ts'
import {
  ask,
  brokenEnd,
  eventually,
  expectError,
  expectErrorObject,
  idOf,
  newCaller,
  PATHS,
  PROTOCOLS,
  type ProtocolName,
  streamedText,
} from '../support/wire.ts'
import { type DeafPort, deafPort } from './raw-upstream.ts'
import { expectSound, expectVerified, PRICE_LINE, settledBooks } from './support.ts'

/** What an upstream can be late with, and what the caller is told then. */
const LATE = {
  connect: 'The upstream could not be reached in time',
  first_byte: 'The upstream did not answer in time',
  idle: 'The upstream fell silent',
  total: 'The upstream took longer than a call may take',
}

interface Stall {
  /** The name of its models and channels. */
  readonly id: string
  readonly name: string
  readonly limit: keyof typeof LATE
  readonly at?: 'a deaf port' | 'a port without TLS'
  readonly answer?: (protocol: ProtocolName, stream: boolean) => Response | Promise<Response>
  readonly ways: readonly ('whole' | 'streamed')[]
  /** What the caller has got by then. */
  readonly said?: string
}

const BOTH = ['whole', 'streamed'] as const
const STREAMED = ['streamed'] as const

const BEGINNING = 'Good morning'

const STALLS: readonly Stall[] = [
  { id: 'deaf', name: 'never lets a connection in', limit: 'connect', at: 'a deaf port', ways: BOTH },
  { id: 'no-tls', name: 'never shakes hands', limit: 'connect', at: 'a port without TLS', ways: BOTH },
  { id: 'mute', name: 'never answers', limit: 'first_byte', answer: () => new Promise(() => {}), ways: BOTH },
  {
    id: 'begun',
    name: 'begins, and sends nothing of its answer',
    limit: 'idle',
    answer: (_, stream) => stalling([stream ? ': hello\n\n' : ' '], stream),
    ways: BOTH,
  },
  {
    id: 'half',
    name: 'stops in the middle of its body',
    limit: 'idle',
    answer: () => stalling(['{"id":'], false),
    ways: BOTH,
  },
  {
    id: 'stuck',
    name: 'stops in the middle of its text',
    limit: 'idle',
    answer: protocol => stalling(openingFrames(protocol), true),
    ways: STREAMED,
    said: BEGINNING,
  },
  {
    id: 'blank',
    name: 'sends blanks and no body',
    limit: 'total',
    answer: () => endless([], ' ', false),
    ways: BOTH,
  },
  {
    id: 'comments',
    name: 'sends comments and no answer',
    limit: 'total',
    answer: () => endless([], ': still thinking\n\n', true),
    ways: STREAMED,
  },
  {
    id: 'comments-after',
    name: 'sends comments and no end',
    limit: 'total',
    answer: protocol => endless(openingFrames(protocol), ': still thinking\n\n', true),
    ways: STREAMED,
    said: BEGINNING,
  },
]

/** Says more than anybody reads. */
const TORRENT: Stall = {
  id: 'torrent',
  name: 'says more than is read',
  limit: 'total',
  answer: protocol => torrent(protocol, 200 * 1024 * 1024),
  ways: STREAMED,
}

const UPSTREAMS = [...STALLS, TORRENT]

const TYPES = { true: 'text/event-stream', false: 'application/json' }

function stalling(frames: readonly string[], isStream: boolean): Response {
  const { body } = eventStream(frames, 'silence')
  return new Response(body, { headers: { 'content-type': TYPES[`${isStream}`] } })
}

function endless(frames: readonly string[], rest: string, isStream: boolean): Response {
  const utf8 = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    start: controller => controller.enqueue(utf8.encode(frames.join(''))),
    async pull(controller) {
      await Bun.sleep(50)
      controller.enqueue(utf8.encode(rest))
    },
  })
  return new Response(body, { headers: { 'content-type': TYPES[`${isStream}`] } })
}

// ── one gateway, with a channel for each of them ────────────────────────────────────────────────────────────────────

/** Of the limit that is tested; the others are so long that none of them can be taken for it. */
const SHORT_MS = 1_000

let duet: Duet
let upstream: ScriptedUpstream
let deaf: DeafPort
const plain = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })

beforeAll(async () => {
  deaf = await deafPort()
  upstream = scriptUpstream(visit => {
    const stall = UPSTREAMS.find(({ id }) => visit.body.model === id)
    return stall?.answer?.(protocolOf(visit), visit.body.stream === true) ?? new Response('?', { status: 500 })
  })
  duet = await startDuet({ config: config() })
})

afterAll(async () => {
  deaf.stop()
  plain.stop(true)
  // Whatever came before: all is settled, and nothing keeps the gateway from stopping.
  await expectVerified(duet)
  expect(await duet.stop()).toBe(0)
  await upstream.stop()
})

function config(): string {
  const rows = UPSTREAMS.flatMap(stall =>
    PROTOCOLS.map(protocol => ({ stall, protocol, name: nameOf(stall, protocol) })),
  )
  const models = rows.map(({ name }) => `  - { id: acme/${name}, price: ${PRICE_LINE} }`)
  const channels = rows.map(
    ({ stall, protocol, name }) => `
  - name: ${name}
    protocol: ${protocol}
    base_url: ${baseOf(stall)}
    models: { acme/${name}: ${stall.id} }
    timeout: { ${timeoutsOf(stall)} }
    breaker: false`,
  )
  return `models:\n${models.join('\n')}\nchannels:${channels.join('')}\n`
}

const nameOf = ({ id }: Stall, protocol: ProtocolName): string => `${id}-${protocol}`

function baseOf({ at }: Stall): string {
  if (at === 'a deaf port') return `${deaf.url}v1`
  return at === 'a port without TLS' ? `https://127.0.0.1:${plain.port}/v1` : upstream.base
}

function timeoutsOf({ limit }: Stall): string {
  const limits = { connect: '20s', first_byte: '20s', idle: '20s', total: '20s', [limit]: `${SHORT_MS}ms` }
  return Object.entries(limits)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ')
}

// ── what everybody sees ─────────────────────────────────────────────────────────────────────────────────────────────

for (const protocol of PROTOCOLS) {
  describe(`an upstream of the ${protocol} protocol that`, () => {
    for (const stall of STALLS) {
      for (const way of stall.ways) {
        test.concurrent(`${stall.name} is ended by its limit, settled and let go: ${way}`, () =>
          play(stall, protocol, way === 'streamed'))
      }
    }
  })
}

describe('a call whose answer nobody reads is ended by its limit, settled and let go', () => {
  for (const client of PROTOCOLS) {
    for (const protocol of PROTOCOLS) {
      test.concurrent(`${client} client, ${protocol} upstream`, () => playUnread(client, protocol))
    }
  }
})

async function playUnread(client: ProtocolName, protocol: ProtocolName): Promise<void> {
  const { account, key } = await newCaller(duet)
  const reader = await RawConnection.open(duet.url)
  reader.stopReading()
  const body = JSON.stringify(ask(client, `acme/${nameOf(TORRENT, protocol)}`, account, { stream: true }))
  const fields = `host: x\r\nauthorization: Bearer ${key}\r\ncontent-length: ${body.length}`
  reader.send(`POST ${PATHS[client]} HTTP/1.1\r\n${fields}\r\n\r\n${body}`)

  const books = await settledBooks(duet, account, 1)
  expectSound(books)
  expect(books.rows).toMatchObject([{ status: 'upstream_timeout', stream: true }])
  expect(books.rows[0]?.cost).not.toBe('0.00')
  await expectLeft(visitOf(account))

  // Who reads on after all is told why there is no more.
  const sipping = setInterval(() => reader.sip(), 5)
  expect(await reader.until(LATE.total)).toContain(LATE.total)
  clearInterval(sipping)
  reader.close()
}

async function play(stall: Stall, protocol: ProtocolName, stream: boolean): Promise<void> {
  const caller = await newCaller(duet)
  const request = ask(protocol, `acme/${nameOf(stall, protocol)}`, caller.account, { stream })
  const answer = await post(duet, PATHS[protocol], request, { key: caller.key })
  if (stall.said === undefined) {
    expectError(answer, { status: 504, code: 'upstream_timeout', message: LATE[stall.limit], protocol })
  } else expectBroken(stall, protocol, answer)

  const books = await settledBooks(duet, caller.account, 1)
  expectSound(books)
  expect(books.rows).toMatchObject([{ status: 'upstream_timeout', stream }])
  expect(books.rows[0]?.cost === '0.00').toBe(stall.said === undefined)
  if (stall.answer) await expectLeft(visitOf(caller.account))
}

function expectBroken({ limit, said }: Stall, protocol: ProtocolName, answer: Answer): void {
  expect(answer.status).toBe(200)
  expect(streamedText(protocol, framesOf(answer.text))).toBe(said ?? '')
  expectErrorObject(brokenEnd(protocol, answer.text), idOf(answer), { code: 'upstream_timeout', message: LATE[limit] })
}

/** The name of the account stands in the prompt. */
const visitOf = (account: string): UpstreamVisit | undefined =>
  upstream.requests.find(({ text }) => text.includes(JSON.stringify(account)))

async function expectLeft(visit: UpstreamVisit | undefined): Promise<void> {
  const isLeft = () => visit?.signal.aborted
  expect(await eventually(isLeft, left => left === true)).toBe(true)
}
