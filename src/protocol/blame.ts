import { isObject } from '../core/ask.ts'
import type { Blamed } from '../core/failure.ts'

/** Vendors of both protocols use the same words, and statuses as numbers; what is not here is their own trouble. */
const WORDS: Readonly<Record<Blamed, readonly string[]>> = {
  request: [
    ...['400', 'invalid_request_error', 'invalid_request', 'bad_request', 'bad_request_error', 'badrequesterror'],
    ...['invalid_argument', 'invalid_prompt', 'context_length_exceeded', 'string_above_max_length'],
    ...['content_filter', 'content_policy_violation', 'moderation', 'moderation_blocked'],
    ...['404', 'not_found_error', 'not_found', 'notfounderror', 'model_not_found'],
    ...['413', 'request_too_large', '422', 'unprocessable_entity'],
  ],
  key: [
    ...['401', 'authentication_error', 'unauthenticated', 'unauthorized', 'invalid_api_key'],
    ...['402', 'billing_error', 'billing_not_active', 'billing_hard_limit_reached'],
    ...['insufficient_quota', 'insufficient_balance'],
    ...['403', 'permission_error', 'permission_denied', 'forbidden'],
    ...['429', 'rate_limit_error', 'rate_limit_exceeded', 'resource_exhausted', 'too_many_requests'],
  ],
}

const BLAMED: ReadonlyMap<string, Blamed> = new Map([
  ...WORDS.request.map(word => [word, 'request'] as const),
  ...WORDS.key.map(word => [word, 'key'] as const),
])

/** Whom the error object of an upstream blames; undefined where it says nothing of that, or that it is its own fault. */
export function blamedBy(error: unknown): Blamed | undefined {
  if (!isObject(error)) return undefined
  // The narrowest first: a key that is refused is an `invalid_request_error` to some, with a code that says more.
  return blamedWith(error.code) ?? blamedWith(error.status) ?? blamedWith(error.type)
}

function blamedWith(word: unknown): Blamed | undefined {
  if (typeof word === 'number') return BLAMED.get(String(word))
  return typeof word === 'string' ? BLAMED.get(word.toLowerCase()) : undefined
}
