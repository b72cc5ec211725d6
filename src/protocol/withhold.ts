import type { JsonObject } from '../core/ask.ts'
import type { MemberEdits } from './json.ts'

/** Fields that were checked, priced or set by us: an upstream must not find a second opinion on them. */
const DECIDED = new Set(
  `model messages system stream stream_options max_tokens max_completion_tokens n tools tool_choice thread`.split(' '),
)

/**
 * Members of a request that a like upstream must not see: those that its channel withholds, because they would choose
 * another model than the one that is billed, and names that differ only in case from a field that was decided. Some
 * servers ignore the case of keys and would take the last of them.
 */
export function withheldMembers(body: JsonObject, withheld: readonly string[]): MemberEdits {
  const unsafe = Object.keys(body).filter(key => {
    const plain = key.toUpperCase().toLowerCase()
    return withheld.includes(plain) || (plain !== key && DECIDED.has(plain))
  })
  return Object.fromEntries(unsafe.map(key => [key, undefined]))
}
