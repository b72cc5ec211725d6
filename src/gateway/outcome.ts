import type { Channel, Model, UsableKey } from '../core/catalog.ts'
import { type Failure, type GatewayError, wireOf } from '../core/failure.ts'
import { scrub } from '../core/scrub.ts'
import type { Health, UpstreamFailure } from '../routing/health.ts'
import { concealer, reasonOf } from './channel.ts'
import type { Timings } from './settlement.ts'

export interface Attempt {
  readonly model: Model
  readonly channel: Channel
  readonly key: UsableKey | undefined
}

/** What the upstream made of a call that is over. Nothing is noted where the end says nothing about the upstream. */
export function noteOutcome(
  { model, channel, key }: Attempt,
  { failed, timings }: { readonly failed: GatewayError | undefined; readonly timings: Timings },
  health: Pick<Health, 'note'>,
): void {
  if (failed && !isUpstreams(failed.failure)) return
  const failure = failed && describe(failed, concealer(model, channel))
  health.note({ channel: channel.name, keyId: key?.id, failure, ...timings })
}

/** A request that it refused with good reason, or a caller who left, is no fault of an upstream. */
function isUpstreams({ kind }: Failure): boolean {
  switch (kind) {
    case 'upstream-auth':
    case 'upstream-error':
    case 'upstream-timeout':
    case 'upstream-rate-limited':
      return true
    default:
      return false
  }
}

const describe = ({ failure, cause }: GatewayError, conceal: (failure: Failure) => Failure): UpstreamFailure => ({
  text: scrub(`${wireOf(conceal(failure)).message}${reasonOf(cause)}`),
  isAuth: failure.kind === 'upstream-auth',
})
