import { ConfigError } from './config/faults.ts'
import type { OutageWatcher } from './ledger/ledger.ts'
import type { Log } from './telemetry/log.ts'

/** What operators read of a Duet as a whole: that it stops, that its store is away, and that it did not take what it was told to read. */

interface Stop {
  readonly log: Log
  /** Aborted when nobody wants to wait any longer. */
  readonly hurry: AbortSignal
  readonly limitSeconds: number
  /** How many requests are. */
  readonly underWay: () => number
}

export interface StopLog {
  cut(): void
  end(): void
}

/** Tells that it begins, and returns what tells of the rest. */
export function logStop({ log, hurry, limitSeconds, underWay }: Stop): StopLog {
  log.info('stopping', { requests: underWay(), up_to_seconds: limitSeconds })
  const tellHurry = () => log.info('told to stop again: nothing is waited for any longer', { requests: underWay() })
  hurry.addEventListener('abort', tellHurry)
  return {
    cut: () => {
      if (underWay() > 0) log.error('requests were cut, for the server stops', { requests: underWay() })
    },
    end: () => {
      hurry.removeEventListener('abort', tellHurry)
      log.info('stopped')
    },
  }
}

export function logRefusedReload(error: unknown, log: Log): void {
  const faults = error instanceof ConfigError ? error.faults : [error instanceof Error ? error.message : String(error)]
  log.error('the configuration was refused, and the last good configuration stays in use', { faults })
}

/** Once when it begins and once when it is over, however many requests it hits. */
export const logOutage = (log: Log): OutageWatcher => ({
  away: cause =>
    log.error('the database is away: new calls are refused until it is back', { problem: reasonOf(cause) }),
  back: ({ awayMs, settlements }) =>
    log.info('the database is back', { seconds: Math.round(awayMs / 100) / 10, settlements_waiting: settlements }),
})

/** The driver's own words, if there are any. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? error.cause.message : error.message
}
