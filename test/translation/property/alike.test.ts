import { describe, expect, test } from 'bun:test'
import type { ProtocolName } from '../../../src/core/ask.ts'
import { GatewayError } from '../../../src/core/failure.ts'
import { NO_USAGE } from '../../../src/core/usage.ts'
import { passthrough } from '../../../src/gateway/passthrough.ts'
import { translate } from '../../../src/gateway/translate.ts'
import type { AnswerStream, View } from '../../../src/protocol/protocol.ts'
import { PROTOCOLS } from '../../../src/protocol/protocols.ts'
import { SseReader } from '../../../src/protocol/sse.ts'
import { someRuns } from './alike-frames.ts'
import { eachCase, type Random, same, TIME_MS_MAX } from './cases.ts'
import { askOf, COST, someView, targetFor } from './play.ts'
import { chunksOf } from './wire.ts'

/** Frames that differ in their texts are copied; whether they are, or read one by one, must make no difference. */

interface Way {
  readonly client: ProtocolName
  readonly upstream: ProtocolName
}

const WAYS: readonly Way[] = [
  { client: 'chat', upstream: 'chat' },
  { client: 'messages', upstream: 'messages' },
  { client: 'messages', upstream: 'chat' },
  { client: 'chat', upstream: 'messages' },
]

const CASES = 1_500

interface Stage extends Way {
  readonly isJson: boolean
  readonly view: View
}

/** A stream of its own, with a request of its own: what is taken back from an answer is remembered there. */
function begin({ client, upstream, isJson, view }: Stage): AnswerStream {
  const format = isJson && client === 'chat' ? { response_format: { type: 'json_object' } } : {}
  const messages = [{ role: 'user', content: 'Hello' }]
  const ask = askOf(client, { model: 'm', max_tokens: 500, stream: true, messages, ...format })
  const [here, there] = [PROTOCOLS[client], PROTOCOLS[upstream]]
  const pair = here === there ? passthrough(ask, here) : translate(ask, here, there)
  pair.request(targetFor(upstream))
  return pair.stream(view)
}

interface Heard {
  /** What was written for each frame, and what was known after it. */
  readonly steps: readonly unknown[]
  readonly failure: unknown
  readonly copied: number
}

function hear(answer: AnswerStream, chunks: readonly Uint8Array[], mayCopy: boolean): Heard {
  const reader = new SseReader()
  const steps: unknown[] = []
  let copied = 0
  const note = (text: string) => {
    const { seen, done, isComplete } = answer
    steps.push({ text: withoutIds(text), done, isComplete, ...structuredClone({ ...seen, thought: seen.thought }) })
  }
  const step = (): boolean => {
    const copy = mayCopy ? answer.pushAlike(reader) : undefined
    if (copy !== undefined) copied++
    const frame = copy === undefined ? reader.next() : undefined
    if (copy === undefined && !frame) return false
    note(copy ?? (frame ? answer.push(frame) : ''))
    return true
  }
  const drain = () => {
    while (!answer.done && step());
  }
  try {
    for (const chunk of chunks) {
      reader.take(chunk)
      drain()
    }
    if (!answer.done) reader.takeEnd()
    drain()
    note(answer.end())
    note(answer.close({ usage: answer.seen.usage ?? NO_USAGE, cost: COST }))
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { steps, failure: error.failure, copied }
  }
  return { steps, failure: undefined, copied }
}

/** Ids of calls that the vendor gave none are made up, differently each time. */
const withoutIds = (text: string): string => text.replaceAll(/(call_|toolu_)[0-9a-f]{24}/g, 'call')

const stageOf = (random: Random, way: Way): Stage => {
  const isJson = random.chance(0.1)
  const choices = way.client === way.upstream && random.chance(0.2) ? 2 : 1
  const legacyCalls = random.chance(0.1)
  const textTools = new Set(random.chance(0.1) ? ['f'] : [])
  return { ...way, isJson, view: { ...someView(random), wantsJson: isJson, choices, legacyCalls, textTools } }
}

describe('a frame that is copied becomes what it would have become had it been read', () => {
  for (const way of WAYS) {
    test(
      `from ${way.upstream} to ${way.client}`,
      async () => {
        let copied = 0
        await eachCase(CASES, random => {
          const stage = stageOf(random, way)
          const text = someRuns(random, way.upstream)
          const chunks = chunksOf(random, text)
          const fast = hear(begin(stage), chunks, true)
          const slow = hear(begin(stage), [new TextEncoder().encode(text)], false)
          same(fast.failure, slow.failure, () => text)
          slow.steps.forEach((step, place) => {
            same(fast.steps[place], step, () => text)
          })
          same(fast.steps.length, slow.steps.length, () => text)
          copied += fast.copied
        })
        // Else nothing has been compared.
        expect(copied).toBeGreaterThan(CASES / 2)
      },
      TIME_MS_MAX,
    )
  }
})

describe('wherever the bytes are cut, frames that are copied come out the same', () => {
  for (const way of WAYS) {
    test(`from ${way.upstream} to ${way.client}`, () => eachCase(2, random => checkCuts(random, way)), TIME_MS_MAX)
  }
})

function checkCuts(random: Random, way: Way): void {
  const stage = { ...way, isJson: false, view: { ...someView(random), showThinking: true, includeUsage: true } }
  const text = someRuns(random, way.upstream).replaceAll('\n', random.pick(['\n', '\r\n']))
  const bytes = new TextEncoder().encode(text)
  const whole = hear(begin(stage), [bytes], true)
  for (let cut = 1; cut < bytes.length; cut++) {
    const halves = hear(begin(stage), [bytes.subarray(0, cut), bytes.subarray(cut)], true)
    same(halves.failure, whole.failure, () => `${cut} of ${text}`)
    same(halves.steps, whole.steps, () => `${cut} of ${text}`)
  }
}

test('nearly all frames of a usual stream are copied', () => {
  const random = { chance: () => true } as unknown as Random
  const texts = Array.from({ length: 100 }, (_, place) => `word ${place} \\"é\\"\\n`)
  const chat = texts.map(text => `data: {"id":"x","choices":[{"index":0,"delta":{"content":"${text}"}}]}\n\n`)
  const padded = chat.map((frame, place) => frame.replace('}\n', `,"obfuscation":"${'x'.repeat(place % 9)}"}\n`))
  const messages = texts.map(
    text =>
      `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}\n\n`,
  )
  const start =
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
  const streams = { chat: [chat, padded], messages: [[start, ...messages]] }
  for (const way of WAYS) {
    for (const frames of streams[way.upstream]) {
      const stage = { ...way, isJson: false, view: someView(random) }
      expect(hear(begin(stage), [new TextEncoder().encode(frames.join(''))], true).copied).toBeGreaterThanOrEqual(97)
    }
  }
})
