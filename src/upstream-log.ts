import { formatDollars, type Nanos } from './core/money.ts'
import type { FailedAttempt } from './gateway/tries.ts'
import type { BreakerChange } from './routing/breakers.ts'
import type { Log } from './telemetry/log.ts'

const WORDS: Record<BreakerChange['type'], string> = {
  back: 'an upstream answers again',
  refused: 'an upstream refused the credential, which is not used for a while',
  'left-alone': 'an upstream is left alone for a while',
}

/** Operators read of it when it happens; how it is now stands in the metrics and in `GET /api/channels`. */
export function logBreaker({ type, channel, keyId, restMs, problem }: BreakerChange, log: Log): void {
  const who = { channel, ...(keyId === undefined ? {} : { key: keyId }) }
  if (type === 'back') log.info(WORDS[type], who)
  else log.error(WORDS[type], { ...who, rest_ms: restMs, problem })
}

/** Callers do not notice; whoever looks after the upstreams should be able to. */
export function logRetry({ requestId, channel, keyId, status }: FailedAttempt, log: Log): void {
  const who = { channel, ...(keyId === undefined ? {} : { key: keyId }) }
  log.info('an upstream failed, and another one is asked', { request_id: requestId, ...who, code: status })
}

export function logExcess(requestId: string, amount: Nanos, log: Log): void {
  const excess = formatDollars(amount)
  log.info('an upstream counted more than the ceiling of its caller, who does not pay it', {
    request_id: requestId,
    excess,
  })
}
