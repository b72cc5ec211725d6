import type { FinishReason } from '../../../src/core/turn.ts'
import { promptTokens, type Usage } from '../../../src/core/usage.ts'
import type { JsonBody } from '../../support/duet.ts'
import { type Answer, type Block, callsIn, type SaidCall, saidIn } from './answer.ts'
import type { Random } from './cases.ts'
import { cut } from './texts.ts'
import { dataOf, type VendorFrame } from './wire.ts'

const HEAD = { id: 'chatcmpl-vendor', created: 1_760_000_000, model: 'the-vendors-own-name' }

const FINISHES: Record<FinishReason, readonly string[]> = {
  stop: ['stop', 'eos', 'STOP'],
  'stop-sequence': ['stop'],
  length: ['length'],
  'tool-calls': ['tool_calls', 'function_call'],
  refusal: ['content_filter', 'sensitive'],
}

export const chatFinish = ({ reason, word }: Answer): string => pickWord(FINISHES[reason], word)

export const pickWord = (words: readonly string[], word: number): string => words[word % words.length] ?? ''

export const chatUsage = (usage: Usage): JsonBody => ({
  prompt_tokens: promptTokens(usage),
  completion_tokens: usage.output,
  total_tokens: promptTokens(usage) + usage.output,
  prompt_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
  completion_tokens_details: { reasoning_tokens: usage.reasoning },
})

/** Of an answer in the order that this dialect has for whole answers. */
export function chatBody(answer: Answer): string {
  const calls = callsIn(answer).map(({ id, name, arguments: made }) => ({
    ...(id === undefined ? {} : { id }),
    type: 'function',
    function: { name, arguments: made },
  }))
  const message = {
    role: 'assistant',
    content: saidIn(answer, 'text') || null,
    reasoning_content: saidIn(answer, 'thinking') || undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
  }
  const finish_reason = chatFinish(answer)
  const choice = { index: 0, message, logprobs: null, finish_reason, stop_reason: answer.stopSequence }
  const usage = answer.usage && chatUsage(answer.usage)
  return JSON.stringify({ ...HEAD, object: 'chat.completion', choices: [choice], usage })
}

/**
 * How far a vendor's habits go: none at all, those that callers of the like dialect are shielded from while the rest is
 * passed on to them as it came, or anything.
 */
export type Manner = 'plain' | 'like' | 'any'

/** How a vendor writes its streams. */
interface Habits {
  readonly manner: Manner
  /** Where a fragment says which call it belongs to. */
  readonly address: 'index' | 'gaps' | 'zero' | 'ids' | 'last'
  readonly finish: 'end' | 'missing' | 'riding' | 'early' | 'every'
  readonly usage: 'end' | 'finish' | 'every' | 'early'
  readonly isInterleaved: boolean
  readonly hasEnd: boolean
}

const PLAIN: Habits = {
  manner: 'plain',
  ...{ address: 'index', finish: 'end', usage: 'end', isInterleaved: false, hasEnd: true },
}

function someHabits(random: Random, { manner, areNamed }: { manner: Manner; areNamed: boolean }): Habits {
  if (manner === 'plain') return PLAIN
  const address = random.pick(areNamed ? ALL_ADDRESSES : SAFE_ADDRESSES)
  const finish = random.pick(ALL_FINISHES)
  return {
    manner,
    address,
    finish,
    usage: random.pick(['end', 'end', 'finish', 'every', 'early']),
    // Where a fragment does not say whose it is, it can only be the last one's.
    isInterleaved: address !== 'zero' && address !== 'last' && random.chance(0.5),
    hasEnd: finish === 'missing' || random.chance(0.85),
  }
}

/** Calls without ids can only be told apart by their numbers, or by their order. */
const SAFE_ADDRESSES = ['index', 'index', 'gaps', 'last'] as const
const ALL_ADDRESSES = [...SAFE_ADDRESSES, 'zero', 'ids'] as const
const ALL_FINISHES = ['end', 'end', 'missing', 'riding', 'early', 'every'] as const

export function chatFrames(random: Random, answer: Answer, manner: Manner): VendorFrame[] {
  const habits = someHabits(random, { manner, areNamed: callsIn(answer).every(({ id }) => id !== undefined) })
  const deltas = deltasOf(random, answer, habits)
  const first = { role: 'assistant', ...(random.chance(0.7) ? { content: '' } : {}) }
  const isLate = manner !== 'plain' && deltas.length > 0 && random.chance(0.2)
  const all = isLate ? deltas : [first, ...deltas]
  const chunks: JsonBody[] = all.map(delta => ({ choices: [{ index: 0, delta, finish_reason: null }] }))
  const noted = noteUsage(random, noteFinish(random, chunks, { answer, habits }), { answer, habits })
  const disturbed = noted.flatMap(chunk => [...disturbance(random, manner), chunk])
  const frames = disturbed.map(chunk => dataOf({ ...HEAD, object: 'chat.completion.chunk', ...chunk }))
  if (manner === 'plain') return [...frames, { data: '[DONE]' }]
  return habits.hasEnd ? [...frames, { data: random.pick(['[DONE]', ' [DONE] ']) }, ...afterEnd(random)] : frames
}

const afterEnd = (random: Random): VendorFrame[] =>
  random.chance(0.1) ? [dataOf({ choices: [{ index: 0, delta: { content: 'noise' }, finish_reason: 'length' }] })] : []

/** Chunks that say nothing of the answer. */
function disturbance(random: Random, manner: Manner): JsonBody[] {
  if (manner === 'plain' || !random.chance(0.1)) return []
  return [random.pick(manner === 'like' ? SILENT_CHUNKS : [...SILENT_CHUNKS, ...FOREIGN_CHUNKS])]
}

const SILENT_CHUNKS: readonly JsonBody[] = [
  { type: 'ping' },
  { choices: null },
  { choices: [{ index: 0, delta: {}, finish_reason: '' }] },
  { choices: [{ index: 0, delta: { content: '', tool_calls: [] }, finish_reason: null }] },
  { choices: [{ index: 0, delta: null, finish_reason: null }] },
  { choices: [{ delta: { content: '', reasoning_content: '', refusal: null }, finish_reason: null }], usage: null },
]

/** Of other answers, or of none. */
const FOREIGN_CHUNKS: readonly JsonBody[] = [
  { choices: [] },
  { choices: [], prompt_filter_results: [{ prompt_index: 0 }] },
  { choices: [{ index: 1, delta: { content: 'another answer' }, finish_reason: null }] },
  { choices: [{ index: 0, delta: { content: null } }] },
]

// ── what is said ────────────────────────────────────────────────────────────────────────────────────────────────────

function deltasOf(random: Random, { blocks }: Answer, habits: Habits): JsonBody[] {
  const numbers = new Map(blocks.filter(block => block.type === 'call').map((call, place) => [call, place]))
  const written = blocks.map(block => ({
    isCall: block.type === 'call',
    deltas: deltasOfBlock(random, block, { habits, place: numbers.get(block as SaidCall) ?? 0 }),
  }))
  const runs: JsonBody[][] = []
  let isRun = false
  for (const { isCall, deltas } of written) {
    const last = runs.at(-1)
    if (isCall && isRun && last && habits.isInterleaved) runs[runs.length - 1] = interleave(random, last, deltas)
    else runs.push(deltas)
    isRun = isCall
  }
  return runs.flat()
}

/** The first of each keeps its place, so that calls begin in the order of the answer. */
function interleave(random: Random, first: readonly JsonBody[], second: readonly JsonBody[]): JsonBody[] {
  const mixed: JsonBody[] = []
  const queues: [JsonBody[], JsonBody[]] = [[...first], [...second]]
  // Where the first is itself a mixture, all its beginnings come before those of the second.
  const begins = lastBeginning(first)
  while (queues[0].length + queues[1].length > 0) {
    const mustFirst = first.length - queues[0].length <= begins
    const from = queues[0].length > 0 && (mustFirst || queues[1].length === 0 || random.chance(0.5)) ? 0 : 1
    mixed.push(queues[from].shift())
  }
  return mixed
}

function lastBeginning(deltas: readonly JsonBody[]): number {
  const seen = new Set<unknown>()
  let last = 0
  deltas.forEach((delta, place) => {
    const { index, id } = delta.tool_calls[0]
    const key = index ?? id
    if (!seen.has(key)) last = place
    seen.add(key)
  })
  return last
}

interface Placed {
  readonly habits: Habits
  readonly place: number
}

function deltasOfBlock(random: Random, block: Block, placed: Placed): JsonBody[] {
  const formsOf = (forms: readonly JsonBody[]) => forms.slice(0, { plain: 1, like: -1, any: 9 }[placed.habits.manner])
  switch (block.type) {
    case 'text':
      return cut(random, block.text).map(text => random.pick(formsOf(textForms(text))))
    case 'thinking':
      return cut(random, block.text).map(text => random.pick(formsOf(thinkingForms(text))))
    case 'call':
      return fragments(random, block, placed).map(fragment => ({ tool_calls: [fragment] }))
    case 'foreign':
      return []
  }
}

/** The first is plain; a client of this dialect could not read the last. */
const textForms = (text: string): JsonBody[] => [
  { content: text },
  { content: text, role: 'assistant' },
  { content: text, reasoning_content: null },
  { content: [{ type: 'text', text }] },
]

const thinkingForms = (text: string): JsonBody[] => [
  { reasoning_content: text },
  { reasoning: text },
  { reasoning_content: text, reasoning: text, content: '' },
  { content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] },
]

function fragments(random: Random, { id, name, arguments: made }: SaidCall, { habits, place }: Placed): JsonBody[] {
  const { address, manner } = habits
  const index = { index: 0, gaps: 2, zero: 0, ids: 0, last: 0 }[address] + (address === 'zero' ? 0 : place)
  const known = id === undefined ? {} : { id }
  const pieces = cut(random, made)
  const isApart = manner === 'any' && (address === 'index' || address === 'gaps') && random.chance(0.3)
  const start = { ...known, type: 'function', function: { name, arguments: '' } }
  const beginning = isApart ? partedStart(random, { id, name }) : [start]
  const noise = manner !== 'plain' && isObjectText(made) && random.chance(0.1) ? [random.pick(['}', ' ', made])] : []
  const rest = [...pieces, ...noise].map(piece => ({ function: { arguments: piece } }))
  const repeated = manner === 'plain' ? {} : random.pick<JsonBody>([{}, {}, known, { id: '' }, { id: null }])
  const addressed = [...beginning, ...rest.map(fragment => ({ ...repeated, ...fragment }))].map(fragment => {
    if (address === 'last') return fragment
    return address === 'ids' ? { ...fragment, id } : { index, ...fragment }
  })
  return manner === 'plain' ? addressed : addressed.flatMap(fragment => [fragment, ...silence(random, fragment)])
}

/** Behind a complete document, some vendors write more: a bracket too many, or the whole once again. */
function isObjectText(text: string): boolean {
  try {
    return text.startsWith('{') && typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

/** Some vendors tell the id first, then the name; others the name first. */
function partedStart(random: Random, { id, name }: Pick<SaidCall, 'id' | 'name'>): JsonBody[] {
  const parts = [{ ...(id === undefined ? {} : { id }), type: 'function' }, { function: { name } }]
  return random.chance(0.5) ? parts : parts.toReversed()
}

/** The same call again, with nothing in it. */
function silence(random: Random, { index, id }: JsonBody): JsonBody[] {
  if (!random.chance(0.1)) return []
  const address = { ...(index === undefined ? {} : { index }), ...(id ? { id } : {}) }
  return [{ ...address, ...random.pick<JsonBody>([{}, { function: { arguments: '' } }, { function: { name: '' } }]) }]
}

// ── notes on it ─────────────────────────────────────────────────────────────────────────────────────────────────────

interface Noted {
  readonly answer: Answer
  readonly habits: Habits
}

function noteFinish(random: Random, chunks: readonly JsonBody[], { answer, habits }: Noted): JsonBody[] {
  const { reason, stopSequence } = answer
  const ending = { finish_reason: chatFinish(answer), ...(stopSequence ? { stop_reason: stopSequence } : {}) }
  const withEnding = (chunk: JsonBody) => ({ ...chunk, choices: [{ ...chunk.choices[0], ...ending }] })
  const last = {
    choices: [{ index: 0, delta: habits.manner !== 'plain' && random.chance(0.3) ? null : {}, ...ending }],
  }
  const isPlain = reason === 'stop' || reason === 'tool-calls'
  switch (habits.finish) {
    case 'missing':
      return isPlain ? [...chunks] : [...chunks, last]
    case 'riding':
      return chunks.length > 0 ? [...chunks.slice(0, -1), withEnding(chunks.at(-1))] : [last]
    case 'early': {
      const place = random.between(0, chunks.length - 1)
      return chunks.length > 0 ? chunks.map((chunk, at) => (at === place ? withEnding(chunk) : chunk)) : [last]
    }
    case 'every':
      return chunks.length > 0 ? chunks.map(withEnding) : [last]
    case 'end':
      return [...chunks, last]
  }
}

function noteUsage(random: Random, chunks: readonly JsonBody[], { answer: { usage }, habits }: Noted): JsonBody[] {
  const nonsense =
    habits.manner !== 'plain' && random.chance(0.1) ? [{ choices: [], usage: random.pick(NONSENSE) }] : []
  if (!usage) return [...chunks, ...nonsense]
  const counted = { usage: chatUsage(usage) }
  const lesser = { usage: chatUsage({ ...usage, output: 0, reasoning: 0 }) }
  switch (habits.usage) {
    case 'end':
      return [...chunks, { choices: [], ...counted }, ...nonsense]
    case 'finish':
      return [...chunks.slice(0, -1), { ...(chunks.at(-1) ?? { choices: [] }), ...counted }, ...nonsense]
    case 'every':
      return [...chunks.map(chunk => ({ ...chunk, ...lesser })), { choices: [], ...counted }]
    case 'early':
      return [{ choices: [], ...counted }, ...chunks, ...nonsense]
  }
}

/** No counts at all: what was counted before stays. */
const NONSENSE: readonly JsonBody[] = [
  { prompt_tokens: 1e30, completion_tokens: 5 },
  { prompt_tokens: -1, completion_tokens: 5 },
  { prompt_tokens: 3.5, completion_tokens: 5 },
  { prompt_tokens: '3', completion_tokens: 5 },
  { total_tokens: 5 },
  {},
]
