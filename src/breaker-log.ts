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
