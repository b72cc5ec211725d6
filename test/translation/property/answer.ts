import type { FinishReason } from '../../../src/core/turn.ts'
import type { Usage } from '../../../src/core/usage.ts'
import type { Random } from './cases.ts'
import { oddId, plainId, someArguments, someText } from './texts.ts'

export interface SaidCall {
  readonly type: 'call'
  /** Undefined where the vendor leaves it out. */
  readonly id: string | undefined
  readonly name: string
  readonly arguments: string
}

export type Block =
  | { readonly type: 'text' | 'thinking'; readonly text: string }
  | SaidCall
  /** One that only its own vendor knows. */
  | { readonly type: 'foreign' }

/** What a model says, before a vendor puts it in its dialect. */
export interface Answer {
  readonly blocks: readonly Block[]
  readonly reason: FinishReason
  readonly stopSequence: string | undefined
  readonly usage: Usage | undefined
  /** Which of the vendor's words for the reason. */
  readonly word: number
}

export interface Wishes {
  /** `chat` has room for thoughts, then a text, then calls; a stream, and `messages`, for any order. */
  readonly order: 'chat' | 'free'
  /** What the upstream calls the tools. */
  readonly names: readonly string[]
  readonly foreign?: boolean
  readonly oddIds?: boolean
  /** Says that it calls where it does not. */
  readonly isDishonest?: boolean
  /** The limit may come in the middle of a call. */
  readonly isCut?: boolean
  /** Some models write arguments that are no object. */
  readonly oddArguments?: boolean
}

export function someAnswer(random: Random, wishes: Wishes): Answer {
  const blocks = wishes.order === 'chat' ? chatBlocks(random, wishes) : freeBlocks(random, wishes)
  const hasCalls = blocks.some(({ type }) => type === 'call')
  const reason = hasCalls
    ? random.weighted({ 'tool-calls': 6, stop: 2, length: 2, refusal: 1 })
    : random.weighted({ stop: 6, 'stop-sequence': 2, length: 2, 'tool-calls': wishes.isDishonest ? 1 : 0, refusal: 1 })
  const isCut = wishes.isCut && reason === 'length' && random.chance(0.5)
  return {
    blocks: isCut ? cutLastCall(random, blocks) : blocks,
    reason,
    stopSequence: reason === 'stop-sequence' ? random.pick(['END', '\n\n', '汉']) : undefined,
    usage: random.chance(0.85) ? someUsage(random) : undefined,
    word: random.between(0, 5),
  }
}

function chatBlocks(random: Random, wishes: Wishes): Block[] {
  const said = (type: 'text' | 'thinking', share: number): Block[] =>
    random.chance(share) ? [{ type, text: someText(random, 1) }] : []
  const calls = Array.from({ length: random.chance(0.5) ? random.between(1, 4) : 0 }, () => someCall(random, wishes))
  return [...said('thinking', 0.4), ...said('text', 0.7), ...calls]
}

function freeBlocks(random: Random, wishes: Wishes): Block[] {
  return Array.from({ length: random.between(0, 7) }, (): Block => {
    const type = random.weighted({ text: 4, thinking: 2, call: 4, foreign: wishes.foreign ? 1 : 0 })
    if (type === 'call') return someCall(random, wishes)
    return type === 'foreign' ? { type } : { type, text: someText(random, 1) }
  })
}

function someCall(random: Random, { names, oddIds, oddArguments }: Wishes): SaidCall {
  const odd = oddArguments && random.chance(0.1) ? random.pick(['null', ' ', '[1]', '"x"', '7', 'no JSON']) : undefined
  return {
    type: 'call',
    id: oddIds && random.chance(0.2) ? random.pick([undefined, oddId(random)]) : plainId(random),
    name: random.pick(names),
    arguments: odd ?? (random.chance(0.15) ? '' : someArguments(random)),
  }
}

/** The limit came in the middle of the last block. */
function cutLastCall(random: Random, blocks: readonly Block[]): Block[] {
  const last = blocks.at(-1)
  if (last?.type !== 'call') return [...blocks]
  const kept = last.arguments.slice(0, random.between(0, last.arguments.length))
  return [...blocks.slice(0, -1), { ...last, arguments: kept }]
}

export function someUsage(random: Random): Usage {
  const output = random.between(0, 5000)
  const isCached = random.chance(0.5)
  return {
    input: random.between(0, 100_000),
    cacheRead: isCached ? random.between(0, 9000) : 0,
    cacheWrite: isCached ? random.between(0, 9000) : 0,
    output,
    reasoning: random.between(0, output),
  }
}

/** A call is an ending of its own, unless the limit or a refusal came first. */
export function honestReason({ blocks, reason }: Answer): FinishReason {
  const hasCalls = blocks.some(({ type }) => type === 'call')
  if (reason === 'stop' || reason === 'tool-calls') return hasCalls ? 'tool-calls' : 'stop'
  return reason
}

export const callsIn = ({ blocks }: Answer): SaidCall[] => blocks.filter(block => block.type === 'call')

export const saidIn = ({ blocks }: Answer, type: 'text' | 'thinking'): string =>
  blocks.flatMap(block => (block.type === type ? [block.text] : [])).join('')
