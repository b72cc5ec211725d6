import { type Ask, isObject } from '../../core/ask.ts'
import { type Effort, nearestEffort } from '../../core/effort.ts'
import type { AssistantPart, ToolChoice, Turn, TurnMessage } from '../../core/turn.ts'
import { editMembers, type MemberEdits, sourceText } from '../json.ts'
import type { Target } from '../protocol.ts'

const BUDGETS: Record<Exclude<Effort, 'none'>, number> = {
  minimal: 1024,
  low: 1024,
  medium: 4096,
  high: 16384,
  xhigh: 32768,
  max: 32768,
}
/** The dialect's own vendor refuses smaller budgets. */
const BUDGET_MIN = 1024

interface ThinkingParts {
  readonly turn: Turn
  readonly target: Target
  readonly maxTokens: number
  readonly history: readonly TurnMessage[]
  readonly toolChoice: ToolChoice | undefined
}

interface EncodedThinking {
  readonly thinking?: { readonly type: 'disabled' | 'enabled' | 'adaptive'; readonly budget_tokens?: number }
  readonly effort?: Effort | undefined
}

export const canThink = ({ reasoning, capabilities }: Target): boolean => reasoning || capabilities.adaptiveThinking

/** How much a model should think, in the way it can be told: an effort, or a budget within its limit. */
export function encodeThinking({ turn, target, maxTokens, history, toolChoice }: ThinkingParts): EncodedThinking {
  const { effort } = turn
  const { adaptiveThinking, disableThinking, efforts } = target.capabilities
  if (!effort || !canThink(target)) return {}
  if (effort === 'none') return disableThinking ? { thinking: { type: 'disabled' } } : {}
  // A call that must be made leaves no room for thought; both together are refused.
  if (toolChoice?.type === 'tool' || toolChoice?.type === 'required') return {}
  if (adaptiveThinking)
    return { thinking: { type: 'adaptive' }, effort: nearestEffort(effort, efforts.filter(isLegal)) }
  const budget = Math.min(BUDGETS[effort], maxTokens - 1)
  return budget < BUDGET_MIN || isAmidCalls(history) ? {} : { thinking: { type: 'enabled', budget_tokens: budget } }
}

/**
 * The budget of a like request whose limit was lowered to what may be spent: it must stay below the limit, and one that is
 * too small would be refused, so there is no thinking then.
 */
export function fittedBudget({ body, source }: Ask, limit: number): MemberEdits {
  const { thinking } = body
  if (!isObject(thinking) || thinking.type !== 'enabled') return {}
  if (typeof thinking.budget_tokens !== 'number' || thinking.budget_tokens < limit) return {}
  if (limit <= BUDGET_MIN) return { thinking: undefined }
  return { thinking: editMembers(sourceText(source, 'thinking') ?? '{}', { budget_tokens: String(limit - 1) }) }
}

/** The dialect has no words for less than a low effort. */
const isLegal = (effort: Effort): boolean => effort !== 'none' && effort !== 'minimal'

/** A blank word is not sent. */
const isSaid = (part: AssistantPart): boolean => part.type !== 'text' || part.text.trim() !== ''

/** A turn that began without a signed thought cannot go on with one: callers of chat have none to give back. */
function isAmidCalls(history: readonly TurnMessage[]): boolean {
  const last = history.findLast(message => message.role === 'assistant' && message.parts.some(isSaid))
  if (last?.role !== 'assistant') return false
  if (!last.parts.some(({ type }) => type === 'tool-call')) return false
  return !last.parts.some(part => part.type === 'thinking' && (part.signature || part.sealed))
}
