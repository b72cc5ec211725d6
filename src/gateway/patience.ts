import { GatewayError } from '../core/failure.ts'
import type { Call } from './serve.ts'

/** A day: a caller who waits longer waits for ever. */
const WAIT_SECONDS_MAX = 86_400
/** Clients of different languages send one or the other, or both. */
const HEADERS = ['x-stainless-timeout', 'x-stainless-read-timeout']

/** Official clients say how long they wait for an answer to begin; undefined where nobody has said. */
export function waitsMs({ headers, startedAt }: Call, now: number): number | undefined {
  const given = HEADERS.map(name => Number(headers.get(name) ?? Number.NaN))
  const limits = given.filter(seconds => seconds > 0 && seconds < WAIT_SECONDS_MAX)
  return limits.length > 0 ? Math.max(0, startedAt + Math.min(...limits) * 1_000 - now) : undefined
}

/** Waits for what goes on by itself, and no longer than that. */
export async function within<T>(work: Promise<T>, limitMs: number | undefined): Promise<T> {
  if (limitMs === undefined) return work
  const { promise: late, reject } = Promise.withResolvers<never>()
  const giveUp = () => reject(new GatewayError({ kind: 'upstream-timeout', phase: 'caller' }))
  const timer = setTimeout(giveUp, limitMs)
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
