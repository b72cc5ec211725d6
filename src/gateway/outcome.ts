import type { Model } from '../core/catalog.ts'
import { type Failure, type GatewayError, wireOf } from '../core/failure.ts'
import { scrub } from '../core/scrub.ts'
import type { UpstreamFault } from '../routing/breakers.ts'
import type { Route } from '../routing/choose.ts'
import { concealer, reasonOf } from './channel.ts'

/**
 * What a failure says about the upstream; undefined where it says nothing: a request that was refused with good reason, a
 * caller who left, or who would not wait as long as the channel may take.
 */
export function faultOf({ failure, cause }: GatewayError, model: Model, { channel }: Route): UpstreamFault | undefined {
  const blame = blameOf(failure)
  if (!blame) return undefined
  const text = scrub(`${wireOf(concealer(model, channel)(failure)).message}${reasonOf(cause)}`)
  return { ...blame, isAuth: failure.kind === 'upstream-auth', text }
}

/** Whatever is an upstream's fault, another one may do better. */
export const isWorthAnotherTry = (failure: Failure): boolean => blameOf(failure) !== undefined

function blameOf(failure: Failure): Pick<UpstreamFault, 'scope' | 'restMs'> | undefined {
  switch (failure.kind) {
    case 'upstream-auth':
      return { scope: 'key', restMs: undefined }
    case 'upstream-rate-limited':
      return { scope: 'key', restMs: failure.restMs }
    case 'upstream-error':
      return { scope: 'channel', restMs: failure.restMs }
    case 'upstream-timeout':
      return failure.phase === 'caller' ? undefined : { scope: 'channel', restMs: undefined }
    default:
      return undefined
  }
}
