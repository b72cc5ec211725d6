import { GatewayError } from '../core/failure.ts'
import type { Call } from './serve.ts'

/** A day: a caller who waits longer waits for ever. */
const WAIT_SECONDS_MAX = 86_400

/** Official clients say how long they wait for an answer to begin; undefined where nobody has said. */
export function waitsMs({ headers, startedAt }: Call, now: number): number | undefined {
  const seconds = Number(headers.get('x-stainless-timeout') ?? Number.NaN)
  return seconds > 0 && seconds < WAIT_SECONDS_MAX ? Math.max(0, startedAt + seconds * 1_000 - now) : undefined
}

/** Waits for what goes on by itself, and no longer than that. */
export async function within<T>(work: Promise<T>, limitMs: number | undefined): Promise<T> {
  if (limitMs === undefined) return work
  const { promise: late, reject } = Promise.withResolvers<never>()
  const giveUp = () => reject(new GatewayError({ kind: 'upstream-timeout', phase: 'caller' }))
  const timer = setTimeout(giveUp, limitMs)
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
