import { Abort } from '../src/core/abort.ts'
import { nanos, pricePerMillion } from '../src/core/money.ts'
import { Meter } from '../src/gateway/meter.ts'
import type { Pair } from '../src/gateway/pair.ts'
import { passthrough } from '../src/gateway/passthrough.ts'
import { translate } from '../src/gateway/translate.ts'
import { type Watched, WatchedStream } from '../src/gateway/watch.ts'
import type { View } from '../src/protocol/protocol.ts'
import { PROTOCOLS } from '../src/protocol/protocols.ts'
import { machine, median, writeResults } from './results.ts'

/**
 * What one frame of a stream costs between the bytes of the upstream and the bytes for the caller: everything that
 * `watch.ts` does, in this process, without sockets, ledger and server. Time is the processor's, not the clock's.
 */
const FRAMES = 300
const ROUNDS = 7
const ROUND_MS = 250
const READ_BYTES = 64 * 1024

type ProtocolName = keyof typeof PROTOCOLS

const utf8 = new TextEncoder()
const event = (payload: { readonly type: string }) => `event: ${payload.type}\ndata: ${JSON.stringify(payload)}\n\n`
const textOf = (place: number) => `~${String(place).padStart(6, '0')}.${'0'.repeat(16)}~ `

function chatFrames(): string[] {
  const chunk = (choices: readonly object[], usage?: object) => {
    const head = { id: 'chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG', object: 'chat.completion.chunk', created: 1741570283 }
    const body = { ...head, model: 'bench-model', system_fingerprint: 'fp_fc9f1d7035', choices, usage }
    return `data: ${JSON.stringify(body)}\n\n`
  }
  const choice = (delta: object, reason: string | null = null) =>
    chunk([{ index: 0, delta, logprobs: null, finish_reason: reason }])
  return [
    choice({ role: 'assistant', content: '' }),
    ...Array.from({ length: FRAMES }, (_, place) => choice({ content: textOf(place) })),
    choice({}, 'stop'),
    chunk([], { prompt_tokens: 200, completion_tokens: 150, total_tokens: 350 }),
    'data: [DONE]\n\n',
  ]
}

function messagesFrames(): string[] {
  const empty = { content: [], stop_reason: null, stop_sequence: null }
  const usage = { input_tokens: 200, output_tokens: 1 }
  const message = { id: 'msg_01', type: 'message', role: 'assistant', model: 'bench-model', ...empty, usage }
  return [
    event({ type: 'message_start', message } as { type: string }),
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as { type: string }),
    ...Array.from({ length: FRAMES }, (_, place) => {
      const delta = { type: 'text_delta', text: textOf(place) }
      return event({ type: 'content_block_delta', index: 0, delta } as { type: string })
    }),
    event({ type: 'content_block_stop', index: 0 } as { type: string }),
    event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 150 } } as {
      type: string
    }),
    event({ type: 'message_stop' }),
  ]
}

const FRAMES_OF: Record<ProtocolName, readonly string[]> = { chat: chatFrames(), messages: messagesFrames() }

/** As the bytes are read: as many as there are, or a frame at a time. */
const READS: Record<string, (frames: readonly string[]) => Uint8Array[]> = {
  '64 KB a read': frames => {
    const all = utf8.encode(frames.join(''))
    const starts = Array.from({ length: Math.ceil(all.byteLength / READ_BYTES) }, (_, place) => place * READ_BYTES)
    return starts.map(start => all.subarray(start, start + READ_BYTES))
  },
  'a frame a read': frames => frames.map(frame => utf8.encode(frame)),
}

function pairOf(client: ProtocolName, upstream: ProtocolName): Pair {
  const [here, there] = [PROTOCOLS[client], PROTOCOLS[upstream]]
  const body = { model: 'm', max_tokens: 8192, stream: true, messages: [{ role: 'user', content: 'q' }] }
  const ask = here.read(body, JSON.stringify(body))
  return here === there ? passthrough(ask, here) : translate(ask, here, there)
}

const VIEW: View = {
  ...{ id: '0123456789abcdef0123456789abcdef', model: 'bench/burst', createdSeconds: 1_760_000_000, choices: 1 },
  ...{ includeUsage: true, showThinking: true, promptEstimate: 200, legacyCalls: false, wantsJson: false },
  textTools: new Set<string>(),
}

const PRICE = {
  ...{ input: pricePerMillion(1), output: pricePerMillion(4) },
  ...{ cacheRead: pricePerMillion(1), cacheWrite: pricePerMillion(1) },
}

/** The parts around the stream that have their own measurements are stand-ins here; the meter is the real one. */
function watchedOf(client: ProtocolName, pair: Pair, chunks: readonly Uint8Array[]): Watched {
  let read = 0
  const upstream = { next: async () => chunks[read++], release: () => {}, cancel: () => {} }
  const bill = { usage: { input: 200, cacheRead: 0, cacheWrite: 0, output: 150, reasoning: 0 }, cost: '0.001' }
  const settlement = {
    firstByte: () => {},
    underWay: () => {},
    charge: async (_: unknown, { write }: { write?: (of: typeof bill) => string }) => ({ text: write?.(bill) ?? '' }),
  }
  const held = nanos(1_000_000_000n)
  const metered = { requestId: 'r', price: PRICE, promptEstimate: 200, held, limitTokens: 8192 }
  const parts = {
    ...{ upstream, settlement, protocol: PROTOCOLS[client], requestId: 'r', promptEstimate: 200 },
    answer: pair.stream(VIEW),
    meter: new Meter(metered, undefined as never),
    cut: new Abort(),
    conceal: (failure: unknown) => failure,
    endingOf: () => undefined,
  }
  return parts as unknown as Watched
}

async function readAll(watched: Watched): Promise<number> {
  let bytes = 0
  for await (const piece of await new WatchedStream(watched).open()) bytes += piece.byteLength
  return bytes
}

/** Microseconds of processor time a frame. */
async function timeOf(run: () => Promise<number>): Promise<number> {
  const [before, until] = [process.cpuUsage(), performance.now() + ROUND_MS]
  let streams = 0
  for (; performance.now() < until; streams++) await run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (streams * FRAMES)
}

const NAMES: readonly ProtocolName[] = ['chat', 'messages']
const cases = NAMES.flatMap(client =>
  NAMES.flatMap(upstream =>
    Object.entries(READS).map(([reads, cut]) => {
      const [pair, chunks] = [pairOf(client, upstream), cut(FRAMES_OF[upstream])]
      const run = () => readAll(watchedOf(client, pair, chunks))
      return { name: `${upstream} to ${client}`, reads, run, times: [] as number[] }
    }),
  ),
)

// Interleaved, and once for nothing: the first round is the compiler's.
for (const { run } of cases) await timeOf(run)
for (let round = 0; round < ROUNDS; round++) for (const { run, times } of cases) times.push(await timeOf(run))

const row = ({ name, reads, times }: (typeof cases)[number]) => {
  const [least, most] = [Math.min(...times), Math.max(...times)].map(time => time.toFixed(2))
  return `| ${name} | ${reads} | ${median(times).toFixed(2)} | ${least} to ${most} |`
}
const lines = [
  '## Frames of streams',
  '',
  `${machine()}. \`npm run bench:frames\`: streams of ${FRAMES} frames, from the bytes of the upstream to those for the`,
  'caller, without sockets. Microseconds of processor time a frame, the median of some rounds and their spread.',
  '',
  '| from upstream to caller | reads | µs a frame | spread |',
  '|---|---|---:|---:|',
  ...cases.map(row),
]
if (process.argv.includes('--write')) await writeResults('frames', lines)
else process.stdout.write(`${lines.join('\n')}\n`)
