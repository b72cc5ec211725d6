import type { Failure } from '../core/failure.ts'
import { scrub } from '../core/scrub.ts'

/** What an upstream answered instead of an answer. */
export interface Refusal {
  readonly status: number
  readonly headers: Pick<Headers, 'get'>
  readonly body: string
  /** When it came, for those who say until when they want to be left alone. */
  readonly now: number
}

/** What an upstream's refusal means to the caller: never the caller's fault unless the request itself was refused. */
export function verdict(refusal: Refusal): Failure {
  const { status, body } = refusal
  switch (status) {
    case 401:
    case 402:
    case 403:
      return { kind: 'upstream-auth' }
    case 429:
      return { kind: 'upstream-rate-limited', retryAfter: toldSeconds(refusal), restMs: restOf(refusal) }
    case 400:
    case 404:
    case 413:
    case 422:
      return { kind: 'upstream-invalid-request', message: errorMessage(body) ?? 'The upstream refused the request' }
    // Redirects and refusals of the path, the method or a header, too: what is wrong there is how the channel is set up.
    default:
      return { kind: 'upstream-error', problem: `The upstream failed (HTTP ${status})`, restMs: restOf(refusal) }
  }
}

/** Nobody is left alone for longer on its own word: a wrong clock, or seconds meant as milliseconds, must not end a channel. */
const REST_MS_MAX = 10 * 60_000

/** A day: who is told to wait longer would never come back. */
const TOLD_SECONDS_MAX = 86_400

/** How long the gateway leaves an upstream alone; undefined where it does not say that it wants to be. */
function restOf(refusal: Refusal): number | undefined {
  const ms = wantedMs(refusal)
  return ms === undefined ? undefined : Math.min(ms, REST_MS_MAX)
}

/** What the caller is told to wait: whole seconds, which every client understands, and never none. */
function toldSeconds(refusal: Refusal): string {
  const seconds = Math.ceil((wantedMs(refusal) ?? 0) / 1_000)
  return String(Math.min(Math.max(1, seconds), TOLD_SECONDS_MAX))
}

/** How long an upstream wants to be left alone; undefined where it does not say so in a way that can be understood. */
function wantedMs({ headers, now }: Refusal): number | undefined {
  const ms = decimal(headers.get('retry-after-ms')) ?? millisecondsIn(headers.get('retry-after'), now)
  return ms === undefined ? undefined : Math.max(0, ms)
}

/** Seconds, or a date. */
function millisecondsIn(value: string | null, now: number): number | undefined {
  const seconds = decimal(value)
  if (seconds !== undefined) return seconds * 1_000
  // Without a time of day it is no date, whatever the parser makes of it.
  const at = value?.includes(':') ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? undefined : at - now
}

function decimal(value: string | null): number | undefined {
  const text = value?.trim() ?? ''
  return /^\d{1,12}(\.\d{1,9})?$/.test(text) ? Number(text) : undefined
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
