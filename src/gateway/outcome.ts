import type { Model } from '../core/catalog.ts'
import { type Failure, type GatewayError, wireOf } from '../core/failure.ts'
import { scrub } from '../core/scrub.ts'
import type { UpstreamFault } from '../routing/breakers.ts'
import type { Route } from '../routing/choose.ts'
import { concealer, reasonOf } from './channel.ts'

/**
 * Whose fault a failure is. Of a request that its upstream finds fault with in the middle of an answer, another one may think
 * otherwise; but nobody is left alone for it.
 */
interface Blame {
  readonly scope: UpstreamFault['scope'] | 'request'
  readonly restMs?: number | undefined
}

/** What is an upstream's doing, another one may do better. */
export const isWorthAnotherTry = (failure: Failure): boolean => blameOf(failure) !== undefined

/** Who is not asked again for the same request; undefined where the failure says nothing about anyone. */
export function blameOf(failure: Failure): Blame | undefined {
  switch (failure.kind) {
    case 'upstream-auth':
      return { scope: 'key' }
    case 'upstream-rate-limited':
      return { scope: 'key', restMs: failure.restMs }
    case 'upstream-error':
      return { scope: failure.blames ?? 'channel', restMs: failure.restMs }
    case 'upstream-timeout':
      // A caller who would not wait as long as the channel may take.
      return failure.phase === 'caller' ? undefined : { scope: 'channel' }
    default:
      return undefined
  }
}

/** The caller did not wait for what was being made for it. */
export const isCallers = (failure: Failure): boolean =>
  failure.kind === 'client-gone' || (failure.kind === 'upstream-timeout' && failure.phase === 'caller')

/** What is held against an upstream, or a key of it. */
export function faultOf({ failure, cause }: GatewayError, model: Model, { channel }: Route): UpstreamFault | undefined {
  const blame = blameOf(failure)
  if (!blame || blame.scope === 'request') return undefined
  const text = scrub(`${wireOf(concealer(model, channel)(failure)).message}${reasonOf(cause)}`)
  return { scope: blame.scope, restMs: blame.restMs, isAuth: failure.kind === 'upstream-auth', text }
}
