import type { FinishReason } from '../../../src/core/turn.ts'
import type { Usage } from '../../../src/core/usage.ts'
import type { JsonBody } from '../../support/duet.ts'
import type { Answer, Block } from './answer.ts'
import type { Random } from './cases.ts'
import { type Manner, pickWord } from './chat-vendor.ts'
import { cut } from './texts.ts'
import type { VendorFrame } from './wire.ts'

const HEAD = { id: 'msg_vendor', type: 'message', role: 'assistant', model: 'the-vendors-own-name' }

const STOPS: Record<FinishReason, readonly string[]> = {
  stop: ['end_turn', 'pause_turn', 'future_reason'],
  'stop-sequence': ['stop_sequence'],
  length: ['max_tokens', 'model_context_window_exceeded'],
  'tool-calls': ['tool_use'],
  refusal: ['refusal'],
}

export const messagesStop = ({ reason, word }: Answer): string => pickWord(STOPS[reason], word)

const SIGNATURE = 'c2lnbmVk'

const inputUsage = ({ input, cacheRead, cacheWrite }: Usage): JsonBody => ({
  input_tokens: input,
  cache_read_input_tokens: cacheRead,
  cache_creation_input_tokens: cacheWrite,
})

const outputUsage = ({ output, reasoning }: Usage): JsonBody => ({
  output_tokens: output,
  output_tokens_details: { thinking_tokens: reasoning },
})

export function messagesBody(answer: Answer): string {
  const { blocks, stopSequence, usage } = answer
  const counted = usage && { ...inputUsage(usage), ...outputUsage(usage) }
  const ending = { stop_reason: messagesStop(answer), stop_sequence: stopSequence ?? null, usage: counted }
  const content = blocks.map(blockText).join(',')
  return `${JSON.stringify(HEAD).slice(0, -1)},"content":[${content}],${JSON.stringify(ending).slice(1)}`
}

/** The arguments go in as they are: a parser would round their numbers and sort their keys. */
function blockText(block: Block): string {
  switch (block.type) {
    case 'text':
      return JSON.stringify({ type: 'text', text: block.text })
    case 'thinking':
      return JSON.stringify({ type: 'thinking', thinking: block.text, signature: SIGNATURE })
    case 'call': {
      const { id, name } = block
      return `${JSON.stringify({ type: 'tool_use', id, name }).slice(0, -1)},"input":${block.arguments || '{}'}}`
    }
    case 'foreign':
      return JSON.stringify({ type: 'redacted_thinking', data: 'sealed' })
  }
}

interface Habits {
  readonly manner: Manner
  readonly number: (place: number) => number
  readonly isOverlapping: boolean
  readonly start: 'whole' | 'bare' | 'missing'
  readonly naming: 'both' | 'event' | 'type'
  readonly hasEnd: boolean
}

const PLAIN: Habits = {
  manner: 'plain',
  number: place => place,
  ...{ isOverlapping: false, start: 'whole', naming: 'both', hasEnd: true },
}

function someHabits(random: Random, manner: Manner): Habits {
  if (manner === 'plain') return PLAIN
  const isAny = manner === 'any'
  const step = isAny ? random.between(1, 3) : 1
  const offset = isAny ? random.between(0, 2) : 0
  return {
    manner,
    number: place => offset + step * place,
    isOverlapping: isAny && random.chance(0.4),
    start: random.pick(['whole', 'whole', 'bare', 'missing']),
    naming: random.pick(['both', 'both', 'event', 'type']),
    hasEnd: random.chance(0.85),
  }
}

type Event = { readonly type: string } & Record<string, unknown>

export function messagesFrames(random: Random, answer: Answer, manner: Manner): VendorFrame[] {
  const habits = someHabits(random, manner)
  const blocks = answer.blocks.map((block, place) =>
    blockEvents(random, block, {
      habits,
      index: habits.number(place),
      isLast: place === answer.blocks.length - 1,
    }),
  )
  const events = [
    ...startEvents(random, answer.usage, habits),
    ...(habits.isOverlapping ? overlap(random, blocks) : blocks.flat()),
    ...endEvents(random, answer, habits),
  ]
  const disturbed = events.flatMap((event, place) => [
    event,
    ...(place > 0 || habits.start !== 'missing' ? disturbance(random, manner) : []),
  ])
  const frames = disturbed.map(event => named(event, habits.naming))
  return manner !== 'plain' && random.chance(0.1) ? [...frames, { data: '[DONE]' }] : frames
}

function named({ type, ...rest }: Event, naming: Habits['naming']): VendorFrame {
  switch (naming) {
    case 'both':
      return { event: type, data: JSON.stringify({ type, ...rest }) }
    case 'event':
      return { event: type, data: JSON.stringify(rest) }
    case 'type':
      return { data: JSON.stringify({ type, ...rest }) }
  }
}

/** Events that say nothing of the answer. */
function disturbance(random: Random, manner: Manner): Event[] {
  if (manner === 'plain' || !random.chance(0.1)) return []
  if (manner === 'like') return [{ type: 'ping' }]
  return [
    random.pick<Event>([
      { type: 'ping' },
      { type: 'future_event', deep: { a: [1] } },
      { type: 'content_block_delta', index: 99, delta: { type: 'text_delta', text: 'of no block' } },
      { type: 'content_block_stop', index: 99 },
      { type: 'message_delta', delta: { stop_reason: null } },
      { type: 'message_delta', delta: {}, usage: { output_tokens: -3, input_tokens: 1e30 } },
      { type: 'message_start', message: { ...HEAD, content: [] } },
    ]),
  ]
}

// ── blocks ──────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Placed {
  readonly habits: Habits
  readonly index: number
  readonly isLast: boolean
}

function blockEvents(random: Random, block: Block, { habits, index, isLast }: Placed): Event[] {
  const isAny = habits.manner === 'any'
  const { start, deltas } = isAny ? oddBlock(random, block) : plainBlock(random, block)
  const mayGoOn = isAny || (habits.manner === 'like' && isLast)
  const isStopped = !mayGoOn || random.chance(0.9)
  return [
    { type: 'content_block_start', index, content_block: start },
    ...deltas.map(delta => ({ type: 'content_block_delta', index, delta })),
    ...(isStopped ? [{ type: 'content_block_stop', index }] : []),
  ]
}

interface Written {
  readonly start: JsonBody
  readonly deltas: readonly JsonBody[]
}

function plainBlock(random: Random, block: Block): Written {
  switch (block.type) {
    case 'text':
      return {
        start: { type: 'text', text: '' },
        deltas: cut(random, block.text).map(text => ({ type: 'text_delta', text })),
      }
    case 'thinking':
      return {
        start: { type: 'thinking', thinking: '', signature: '' },
        deltas: [
          ...cut(random, block.text).map(thinking => ({ type: 'thinking_delta', thinking })),
          { type: 'signature_delta', signature: SIGNATURE },
        ],
      }
    case 'call':
      return {
        start: { type: 'tool_use', id: block.id, name: block.name, input: {} },
        deltas: cut(random, block.arguments).map(partial_json => ({ type: 'input_json_delta', partial_json })),
      }
    case 'foreign':
      return { start: { type: 'redacted_thinking', data: 'sealed' }, deltas: [] }
  }
}

/** The beginning may stand in the block's start; a delta may be empty, or of a kind that nobody knows. */
function oddBlock(random: Random, block: Block): Written {
  const { start, deltas } = plainBlock(random, block)
  const odd = deltas.flatMap(delta => (random.chance(0.1) ? [random.pick(ODD_DELTAS), delta] : [delta]))
  if ((block.type !== 'text' && block.type !== 'thinking') || !random.chance(0.3)) return { start, deltas: odd }
  const [first] = deltas
  const key = block.type === 'text' ? 'text' : 'thinking'
  return { start: { ...start, [key]: first?.[key] ?? '' }, deltas: deltas.slice(1) }
}

const ODD_DELTAS: readonly JsonBody[] = [
  { type: 'text_delta', text: '' },
  { type: 'input_json_delta', partial_json: '' },
  { type: 'citations_delta', citation: { cited_text: 'x' } },
  { type: 'future_delta', future: 1 },
  {},
]

/** Blocks begin in the order of the answer, and may go on after the next has begun. */
function overlap(random: Random, blocks: readonly (readonly Event[])[]): Event[] {
  const mixed: Event[] = []
  let open: Event[][] = []
  for (const block of blocks) {
    const [start, ...rest] = block
    if (start) mixed.push(start)
    open.push(rest)
    while (open.length > 0 && random.chance(0.7)) {
      const next = random.pick(open).shift()
      if (next) mixed.push(next)
      open = open.filter(events => events.length > 0)
    }
  }
  while (open.length > 0) {
    const next = random.pick(open).shift()
    if (next) mixed.push(next)
    open = open.filter(events => events.length > 0)
  }
  return mixed
}

// ── the message ─────────────────────────────────────────────────────────────────────────────────────────────────────

function startEvents(random: Random, usage: Usage | undefined, { start }: Habits): Event[] {
  const empty = { content: [], stop_reason: null, stop_sequence: null }
  const early = usage && random.pick<JsonBody>([{ ...inputUsage(usage), output_tokens: 1 }, inputUsage(usage)])
  switch (start) {
    case 'missing':
      return []
    case 'bare':
      return [
        { type: 'message_start', message: random.pick<JsonBody>([{}, { content: null }, { ...HEAD, usage: null }]) },
      ]
    case 'whole':
      return [{ type: 'message_start', message: { ...HEAD, ...empty, ...(early ? { usage: early } : {}) } }]
  }
}

function endEvents(random: Random, answer: Answer, { start, hasEnd, manner }: Habits): Event[] {
  const { stopSequence, usage } = answer
  const delta = { stop_reason: messagesStop(answer), stop_sequence: stopSequence ?? null }
  // Who told the input at the start need not tell it again.
  const late = start === 'whole' && random.chance(0.5) ? {} : usage && inputUsage(usage)
  const counted = usage && { ...late, ...outputUsage(usage) }
  const lesser = usage && { ...late, output_tokens: 0 }
  const isTwice = random.chance(0.2)
  const first =
    isTwice && manner === 'any' ? [{ type: 'message_delta', delta, ...(lesser ? { usage: lesser } : {}) }] : []
  return [
    ...first,
    { type: 'message_delta', delta, ...(counted ? { usage: counted } : {}) },
    ...(hasEnd ? [{ type: 'message_stop' }] : []),
  ]
}
