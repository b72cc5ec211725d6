import { describe, test } from 'bun:test'
import type { ProtocolName } from '../../../src/core/ask.ts'
import { DEFAULT_CAPABILITIES } from '../../../src/core/capabilities.ts'
import { PROTOCOLS } from '../../../src/protocol/protocols.ts'
import type { JsonBody } from '../../support/duet.ts'
import { eachCase, type Random, same, TIME_MS_MAX } from './cases.ts'
import { someChatRequest } from './chat-request.ts'
import { someMessagesRequest } from './messages-request.ts'
import { targetFor } from './play.ts'

const CASES = 300

/** The request that an upstream of the other dialect gets. */
function crossed(from: ProtocolName, text: string, partsArray: boolean): string {
  const to = from === 'chat' ? 'messages' : 'chat'
  const ask = PROTOCOLS[from].read(JSON.parse(text), text)
  const capabilities = { ...DEFAULT_CAPABILITIES[to], structuredOutput: true, topK: true, partsArray }
  const target = targetFor(to, { maxTokens: ask.maxTokens, maxOutputTokens: 200_000, capabilities })
  return PROTOCOLS[to].encodeRequest(PROTOCOLS[from].decodeRequest(ask), target).body
}

interface Trip {
  readonly from: ProtocolName
  /** The request as it was, and after each crossing. */
  readonly texts: readonly string[]
}

function travel(
  random: Random,
  from: ProtocolName,
  { isFair, crossings }: { isFair: boolean; crossings: number },
): Trip {
  const first =
    from === 'chat' ? JSON.stringify(someChatRequest(random, { isFair })) : someMessagesRequest(random, { isFair })
  const partsArray = random.chance(0.5)
  const texts = [first]
  let protocol = from
  for (let crossing = 0; crossing < crossings; crossing++) {
    texts.push(crossed(protocol, texts.at(-1) ?? '', partsArray))
    protocol = protocol === 'chat' ? 'messages' : 'chat'
  }
  return { from, texts }
}

const aboutTrip =
  ({ texts }: Trip) =>
  () =>
    texts.join('\n---\n')

describe('a conversation that goes to and fro between the dialects stays as it is', () => {
  for (const isFair of [true, false]) {
    test(
      `from a chat history ${isFair ? 'in order' : 'with faults'}, once it was told in messages`,
      () =>
        eachCase(CASES, random => {
          const trip = travel(random, 'chat', { isFair, crossings: 5 })
          const [, first, , second, , third] = trip.texts
          same(third, second, aboutTrip(trip))
          same(essence(second), essence(first), aboutTrip(trip))
        }),
      TIME_MS_MAX,
    )
  }

  test(
    'from a messages history in order',
    () =>
      eachCase(CASES, random => {
        const trip = travel(random, 'messages', { isFair: true, crossings: 4 })
        const [zeroth, , first, , second] = trip.texts
        same(saidIn(first), saidIn(zeroth), aboutTrip(trip))
        same(essence(second), essence(first), aboutTrip(trip))
      }),
    TIME_MS_MAX,
  )
})

describe('the arguments of calls keep every byte', () => {
  test(
    'from chat and back',
    () =>
      eachCase(CASES, random => {
        const trip = travel(random, 'chat', { isFair: true, crossings: 4 })
        const made = trip.texts.filter((_, place) => place % 2 === 0).map(argumentsIn)
        same(made[1], made[0], aboutTrip(trip))
        same(made[2], made[0], aboutTrip(trip))
      }),
    TIME_MS_MAX,
  )

  test(
    'from messages and back',
    () =>
      eachCase(CASES, random => {
        const trip = travel(random, 'messages', { isFair: true, crossings: 3 })
        const [text = '', chat = '', , again = ''] = trip.texts
        same(argumentsIn(again), argumentsIn(chat), aboutTrip(trip))
        let at = 0
        for (const made of argumentsIn(chat)) {
          at = text.indexOf(`"input":${made}`, at) + 1
          same(at > 0, true, aboutTrip(trip))
        }
      }),
    TIME_MS_MAX,
  )
})

function argumentsIn(text: string): string[] {
  const { messages }: JsonBody = JSON.parse(text)
  return messages.flatMap(({ tool_calls }: JsonBody) =>
    (tool_calls ?? []).map((call: JsonBody) => call.function.arguments),
  )
}

// ── what must stay ──────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * A messages request, without the liberties that the other dialect takes: it has no cache marks, no signed thoughts and
 * four stops; texts of one speaker become one, the assistant's before its calls; a failed result says so in its text;
 * and ids and names that are too long there are others, the same wherever they stand.
 */
function essence(text: string | undefined): JsonBody {
  const { messages, system, tools, tool_choice, stop_sequences, ...rest }: JsonBody = JSON.parse(text ?? '')
  const shown = showing({ id: 31, name: 55 })
  return {
    ...rest,
    stop_sequences: stop_sequences?.slice(0, 4),
    system: system && joined(blocksOf(system), '\n').replace(/\n+/g, '\n'),
    tools: tools?.map(({ cache_control, name, ...tool }: JsonBody) => ({ ...tool, name: shown.name(name) })),
    tool_choice: tool_choice && { ...tool_choice, name: tool_choice.name && shown.name(tool_choice.name) },
    messages: conversation(messages, shown),
  }
}

/** What was said, with ids and names by their order: a request that is to be sent on has legal ones. */
const saidIn = (text: string | undefined): JsonBody =>
  conversation(JSON.parse(text ?? '').messages, showing({ id: 0, name: 0 }))

function conversation(messages: readonly JsonBody[], shown: Shown): JsonBody {
  return messages.map(({ role, content }) => {
    const blocks = blocksOf(content)
    const ordered = role === 'user' ? blocks : blocks.toSorted((a, b) => Number(isCall(a)) - Number(isCall(b)))
    const all = told(ordered, role === 'user' ? '\n\n' : '').map(block => renamed(block, shown))
    return { role, content: all.toSorted(byCall) }
  })
}

/** Results may come in any order. */
const byCall = (a: JsonBody, b: JsonBody): number =>
  a.type === 'tool_result' && b.type === 'tool_result' ? String(a.id).localeCompare(String(b.id)) : 0

const isCall = ({ type }: JsonBody): boolean => type === 'tool_use'

interface Shown {
  readonly id: (id: string) => unknown
  readonly name: (name: string) => unknown
}

/** Names up to these lengths as they are, longer ones by the order in which they come. */
function showing(most: { id: number; name: number }): Shown {
  const numbers = new Map<string, number>()
  const short = (name: string, length: number) => (name.length <= length ? name : number(numbers, name))
  return { id: id => short(id, most.id), name: name => short(name, most.name) }
}

function number(ids: Map<string, number>, id: string): number {
  if (!ids.has(id)) ids.set(id, ids.size)
  return ids.get(id) ?? 0
}

const blocksOf = (content: JsonBody): JsonBody[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])

const joined = (blocks: readonly JsonBody[], between: string): string => blocks.map(({ text }) => text).join(between)

function told(blocks: readonly JsonBody[], between: string): JsonBody[] {
  const all: JsonBody[] = []
  for (const { cache_control, ...block } of blocks) {
    const last = all.at(-1)
    if (block.type === 'thinking') continue
    if (block.type === 'text' && last?.type === 'text') last.text += between + block.text
    else all.push({ ...block })
  }
  return all
}

function renamed(block: JsonBody, shown: Shown): JsonBody {
  if (block.type === 'tool_use') return { ...block, id: shown.id(block.id), name: shown.name(block.name) }
  if (block.type !== 'tool_result') return block
  const said = joined(blocksOf(block.content), '\n')
  const text = block.is_error && !said.startsWith('Error') ? `Error: ${said}` : said
  return { type: 'tool_result', id: shown.id(block.tool_use_id), text }
}
