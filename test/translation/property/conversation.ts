import type { Random } from './cases.ts'
import { oddId, plainId, someArguments, someText } from './texts.ts'

/** One step of a conversation, before it is put in either dialect. */
export type Step =
  | { readonly type: 'user' | 'system' | 'assistant-text' | 'thought'; readonly texts: readonly string[] }
  | { readonly type: 'calls'; readonly texts: readonly string[]; readonly calls: readonly StepCall[] }
  | { readonly type: 'results'; readonly results: readonly StepResult[]; readonly texts: readonly string[] }

export interface StepCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

export interface StepResult {
  readonly id: string
  readonly texts: readonly string[]
  readonly isError: boolean
}

/** Of the tools that the conversation may call: some have names that no server takes. */
export const TOOL_NAMES = ['count', 'look up', 'a.b/c', 'é', `long_${'x'.repeat(140)}`, 'structured_output']

export interface Fairness {
  /** Every call has its results at once, nothing is blank, a user begins and ends. */
  readonly isFair: boolean
  /** Chat lets every turn number its calls anew. */
  readonly hasUniqueIds?: boolean
}

export function someConversation(random: Random, { isFair, hasUniqueIds = false }: Fairness): Step[] {
  const steps: Step[] = [{ type: 'user', texts: said(random, isFair) }]
  const turns = random.between(0, 4)
  for (let turn = 0; turn < turns; turn++) steps.push(...someTurn(random, { isFair, hasUniqueIds, turn }))
  return isFair ? steps : spoiled(random, steps)
}

/** Texts of one message; where it is fair, none of them is blank. */
function said(random: Random, isFair: boolean): string[] {
  const count = random.between(isFair ? 1 : 0, random.chance(0.2) ? 3 : 1)
  return Array.from({ length: count }, () => (isFair ? `${someText(random)}.` : someText(random)))
}

function someTurn(random: Random, { isFair, hasUniqueIds, turn }: Fairness & { turn: number }): Step[] {
  const thought: Step[] = random.chance(0.2) ? [{ type: 'thought', texts: [someText(random, 1)] }] : []
  const next: Step = { type: 'user', texts: said(random, isFair) }
  const between: Step[] = random.chance(0.15) ? [{ type: 'system', texts: said(random, true) }] : []
  if (random.chance(0.4)) return [...thought, { type: 'assistant-text', texts: said(random, isFair) }, ...between, next]
  const calls = Array.from({ length: random.between(1, 4) }, (_, place) =>
    someCall(random, { turn, place, hasUniqueIds }),
  )
  const order = random.chance(0.5) ? calls : calls.toReversed()
  const results = order.map(({ id }) => someResult(random, id, isFair))
  const texts = random.chance(0.4) ? said(random, isFair) : []
  const answered: Step = { type: 'results', results, texts: random.chance(0.3) ? said(random, isFair) : [] }
  return [...thought, { type: 'calls', texts, calls }, ...between, answered, ...(random.chance(0.5) ? [next] : [])]
}

interface Place {
  readonly turn: number
  readonly place: number
  readonly hasUniqueIds: boolean | undefined
}

function someCall(random: Random, { turn, place, hasUniqueIds }: Place): StepCall {
  const kind = random.weighted({ plain: 6, odd: 2, repeated: hasUniqueIds ? 0 : 2 })
  const id = { plain: () => plainId(random), odd: () => oddId(random), repeated: () => `call_${place}` }[kind]()
  return {
    id: `${id}${kind === 'repeated' ? '' : `${turn}${place}`}`,
    name: random.pick(TOOL_NAMES),
    arguments: someArguments(random),
  }
}

const someResult = (random: Random, id: string, isFair: boolean): StepResult => ({
  id,
  texts: Array.from({ length: random.between(0, 2) }, () => someText(random) + (isFair ? '.' : '')),
  isError: random.chance(0.15),
})

/** What clients make of histories: things get lost, come twice, come late, or were never anything. */
function spoiled(random: Random, steps: readonly Step[]): Step[] {
  let left = [...steps]
  for (let round = random.between(0, 4); round > 0 && left.length > 0; round--) {
    const place = random.between(0, left.length - 1)
    const kind = random.pick(['drop', 'repeat', 'swap', 'blank', 'halve', 'orphan', 'junk'] as const)
    left = left.flatMap((step, at): Step[] => (at === place ? spoil(random, step, kind) : [step]))
    const next = left[place + 1]
    if (kind === 'swap' && next) left.splice(place, 2, next, left[place] as Step)
  }
  return left.length > 0 ? left : [{ type: 'user', texts: [] }]
}

type Spoiling = 'drop' | 'repeat' | 'swap' | 'blank' | 'halve' | 'orphan' | 'junk'

function spoil(random: Random, step: Step, kind: Spoiling): Step[] {
  switch (kind) {
    case 'drop':
      return []
    case 'repeat':
      return [step, step]
    case 'blank':
      return 'texts' in step ? [{ ...step, texts: random.pick([[], [''], [' \n']]) }] : [step]
    case 'halve':
      return step.type === 'results' ? [{ ...step, results: step.results.slice(1) }] : [step]
    case 'orphan':
      return [
        step,
        { type: 'results', results: [someResult(random, random.pick([oddId(random), 'call_0']), false)], texts: [] },
      ]
    case 'junk':
      return step.type === 'calls'
        ? [{ ...step, calls: step.calls.map(call => ({ ...call, ...junk(random) })) }]
        : [step]
    case 'swap':
      return [step]
  }
}

/** No JSON, no object, or half a character. */
const JUNK = ['', ' ', 'null', '[1]', '"x"', '{"a":', 'not json', '{}x', '{"a":"\ud83d"}', '\ud83d']

const junk = (random: Random) => ({ arguments: random.pick(JUNK) })
