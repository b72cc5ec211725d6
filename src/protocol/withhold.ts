import type { JsonObject } from '../core/ask.ts'
import type { MemberEdits } from './json.ts'
import type { Target } from './protocol.ts'

/** Fields that were checked, priced or set by us: an upstream must not find a second opinion on them. */
const DECIDED = new Set(
  `model messages system stream stream_options max_tokens max_completion_tokens n tools tool_choice thread`.split(' '),
)

/**
 * Names of members that a like upstream must not see: those that its channel withholds, because they would choose
 * another model than the one that is billed, and names that differ only in case from a field that was decided. Some
 * servers ignore the case of keys and would take the last of them.
 */
function withheldNames(body: JsonObject, withheld: readonly string[]): string[] {
  return Object.keys(body).filter(key => {
    const plain = key.toUpperCase().toLowerCase()
    return withheld.includes(plain) || (plain !== key && DECIDED.has(plain))
  })
}

/** What some models refuse even at its default. */
const SAMPLING = ['temperature', 'top_p', 'top_k']

/** What a request loses on its way to a like upstream, and the names of what the caller should hear of. */
export function withhold(
  body: JsonObject,
  { withheld, capabilities }: Target,
): { edits: MemberEdits; dropped: string[] } {
  const refused = capabilities.sampling ? [] : SAMPLING.filter(field => (body[field] ?? null) !== null)
  const dropped = [...withheldNames(body, withheld), ...refused]
  // Null counts as absent, and not every vendor knows that.
  const nulls = Object.keys(body).filter(key => body[key] === null)
  return { edits: Object.fromEntries([...dropped, ...nulls].map(key => [key, undefined])), dropped }
}
