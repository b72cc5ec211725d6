import type { ProtocolName } from '../src/core/ask.ts'
import { DEFAULT_CAPABILITIES } from '../src/core/capabilities.ts'
import type { Channel, Model } from '../src/core/catalog.ts'
import { dollars, pricePerMillion } from '../src/core/money.ts'
import { encodeFor, prepare } from '../src/gateway/prepare.ts'
import { Recollection } from '../src/gateway/recollection.ts'
import { reserve } from '../src/gateway/reserve.ts'
import { modelName } from '../src/gateway/serve.ts'
import { estimatePrompt } from '../src/metering/estimate.ts'
import { decodeText } from '../src/protocol/body-text.ts'
import { PROTOCOLS } from '../src/protocol/protocols.ts'
import { agentBody, type BodyShape } from './agent-bodies.ts'
import { machine, median, writeResults } from './results.ts'

/**
 * What a request costs between its bytes and those that go to its upstream: read, checked, estimated, reserved, edited or
 * translated. Beside it what no gateway can do without: the bytes as text, one `JSON.parse`, and the text as bytes.
 */

const MODEL = 'bench/whole'
const PRICE = {
  input: pricePerMillion(1),
  output: pricePerMillion(4),
  cacheRead: pricePerMillion(0.1),
  cacheWrite: pricePerMillion(1.25),
}
const HELD = { amount: dollars(1), available: dollars(1_000) }

const model: Model = {
  id: MODEL,
  name: 'Bench',
  description: '',
  price: PRICE,
  contextLength: 200_000,
  maxOutputTokens: 32_000,
  images: undefined,
  recommended: false,
  reasoning: false,
  origin: 'file',
  enabled: true,
  hides: undefined,
}

const channelOf = (protocol: ProtocolName): Channel => ({
  name: `bench-${protocol}`,
  protocol,
  baseUrl: 'http://127.0.0.1:9/v1',
  origin: 'file',
  vendor: undefined,
  hidesConsole: false,
  isPaused: false,
  keys: [],
  usableKeys: [],
  models: new Map([[MODEL, { name: 'upstream-model', capabilities: DEFAULT_CAPABILITIES[protocol] }]]),
  priority: 0,
  weight: 1,
  groups: ['default'],
  timeouts: { connectMs: 1_000, firstByteMs: 1_000, idleMs: 1_000, totalMs: 1_000 },
  breaker: undefined,
  withheld: [],
  replyHeaders: {},
})

const CHANNELS = { chat: channelOf('chat'), messages: channelOf('messages') }
const encoder = new TextEncoder()

/** The steps of `serve`, with nobody to ask and no ledger. */
function pass(bytes: Uint8Array, client: ProtocolName, channel: Channel, known: Recollection): unknown {
  const { body, source } = known.read(bytes, 'key')
  known.keep(source, 'key')
  modelName(body)
  const asked = PROTOCOLS[client].read(body, source)
  const prepared = prepare({ asked, model }, channel)
  const { ask } = prepared
  const { limits } = reserve({ ask, model, price: PRICE, promptEstimate: estimatePrompt(ask) })
  const { maxTokens } = limits(HELD)
  const request = encodeFor({ ...prepared, model, channel, maxTokens })
  return request.pieces ?? encoder.encode(request.body)
}

function floor(bytes: Uint8Array): Uint8Array {
  const text = decodeText(bytes)
  JSON.parse(text)
  return encoder.encode(text)
}

/** Of processor time, in microseconds. */
function cpuOf(work: () => unknown, milliseconds: number): number {
  const before = process.cpuUsage()
  const until = performance.now() + milliseconds
  let times = 0
  for (; performance.now() < until; times++) for (let again = 0; again < 8; again++) work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (times * 8)
}

const SIZES = [1_000, 32_000, 200_000]
const PAIRS: readonly (readonly [ProtocolName, ProtocolName])[] = [
  ['chat', 'chat'],
  ['messages', 'messages'],
  ['messages', 'chat'],
  ['chat', 'messages'],
]
const ROUNDS = 5
const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 60)

const WARM_UP_MS = 250

/** A conversation that is gone on with: each body has a turn more than the one before. */
const TURNS = 8

const strangers = () => new Recollection({ clock: () => 0, bytesMax: 0 })
const acquaintances = () => new Recollection({ clock: () => 0 })

function measure(client: ProtocolName, upstream: ProtocolName, shape: Pick<BodyShape, 'bytes' | 'isForeign'>): string {
  const bodies = Array.from({ length: TURNS }, (_, later) =>
    agentBody({ ...shape, protocol: client, model: MODEL, later }),
  )
  let turn = 0
  const next = () => bodies[turn++ % TURNS] as Uint8Array
  const through = (known: Recollection) => () => pass(next(), client, CHANNELS[upstream], known)
  const ways = [() => floor(next()), through(strangers()), through(acquaintances())]
  for (const way of ways) cpuOf(way, WARM_UP_MS)
  const rounds = Array.from({ length: ROUNDS }, () => ways.map(way => cpuOf(way, ROUND_MS)))
  const medians = ways.map((_, place) => median(rounds.map(round => round[place] ?? 0)).toFixed(1))
  const size = `${Math.round((bodies[0]?.length ?? 0) / 1000)} KB`
  return `| ${[`${client} → ${upstream}`, size, shape.isForeign ? 'mixed' : 'ASCII', ...medians].join(' | ')} |`
}

const rows: string[] = []
// Everything is compiled before anything counts.
for (const [client, upstream] of PAIRS) measure(client, upstream, { bytes: 1_000, isForeign: false })
for (const isForeign of [false, true]) {
  for (const [client, upstream] of PAIRS) {
    for (const bytes of SIZES) rows.push(measure(client, upstream, { bytes, isForeign }))
  }
}

await writeResults('prompts', [
  '## Prompts',
  '',
  `From the bytes of a request to those for its upstream, in microseconds of processor time (${machine()}); medians of`,
  `${ROUNDS} rounds, taken in turn. The floor is decoding, one \`JSON.parse\` and encoding. A conversation is new, or goes`,
  'on: each body has a turn more than the one before.',
  '',
  '| pair | size | text | floor | new | goes on |',
  '|---|---:|---|---:|---:|---:|',
  ...rows,
])
