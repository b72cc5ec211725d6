import type { JsonObject } from '../core/ask.ts'
import type { Target } from './protocol.ts'

/** Changes of a request that are still being gathered. */
export type RequestChanges = Map<string, string | undefined>

/** Fields that were checked, priced or set by us: an upstream must not find a second opinion on them. */
const DECIDED = new Set(
  `model messages system stream stream_options max_tokens max_completion_tokens n tools tool_choice thread`.split(' '),
)

/** Such names are their own lower case; nearly all are. */
const PLAIN = /^[a-z_]+$/

/**
 * Whether a member must not reach a like upstream: those that its channel withholds, because they would choose another
 * model than the one that is billed, and names that differ only in case from a field that was decided. Some servers ignore
 * the case of keys and would take the last of them.
 */
function isWithheld(key: string, withheld: readonly string[]): boolean {
  if (PLAIN.test(key)) return withheld.length > 0 && withheld.includes(key)
  const plain = key.toUpperCase().toLowerCase()
  return withheld.includes(plain) || (plain !== key && DECIDED.has(plain))
}

/** What some models refuse even at its default. */
const SAMPLING = ['temperature', 'top_p', 'top_k']

/** What a request loses on its way to a like upstream, and the names of what the caller should hear of. */
export function withhold(
  body: JsonObject,
  { withheld, capabilities }: Target,
): { changes: RequestChanges; dropped: string[] } {
  const keys = Object.keys(body)
  const dropped = keys.filter(key => isWithheld(key, withheld))
  if (!capabilities.sampling) dropped.push(...SAMPLING.filter(field => (body[field] ?? null) !== null))
  const changes: RequestChanges = new Map()
  for (const key of dropped) changes.set(key, undefined)
  // Null counts as absent, and not every vendor knows that.
  for (const key of keys) if (body[key] === null) changes.set(key, undefined)
  return { changes, dropped }
}
