import type { Failure } from '../core/failure.ts'
import { scrub } from '../core/scrub.ts'

/** What an upstream's refusal means to the caller: never the caller's fault unless the request itself was refused. */
export function verdict(status: number, retryAfter: string | null, body: string): Failure {
  switch (status) {
    case 401:
    case 402:
    case 403:
      return { kind: 'upstream-auth' }
    case 429:
      return { kind: 'upstream-rate-limited', retryAfter: safeRetryAfter(retryAfter) }
    case 400:
    case 404:
    case 413:
    case 422:
      return { kind: 'upstream-invalid-request', message: errorMessage(body) ?? 'The upstream refused the request' }
    default:
      return { kind: 'upstream-error', problem: `The upstream failed (HTTP ${status})` }
  }
}

/** Seconds or an HTTP date; anything else would confuse clients that sleep by it. */
function safeRetryAfter(value: string | null): string {
  const text = value?.trim() ?? ''
  return /^\d{1,6}(\.\d+)?$/.test(text) || !Number.isNaN(Date.parse(text)) ? text : '1'
}

/** Vendors put it in `error.message`, `message`, `detail` or `error`. */
function errorMessage(body: string): string | undefined {
  try {
    const { error, message, detail } = JSON.parse(body)
    const found = [error?.message, message, detail, error].find(text => typeof text === 'string' && text !== '')
    return found && scrub(found)
  } catch {
    return undefined
  }
}
