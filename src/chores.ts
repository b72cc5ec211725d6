import type { Captures } from './core/captures.ts'
import type { Directory } from './core/directory.ts'
import { TEND_MS } from './core/leases.ts'
import type { People } from './core/people.ts'
import type { Replicas } from './core/replicas.ts'
import type { Upkeep } from './core/upkeep.ts'
import type { Recollection } from './gateway/recollection.ts'
import type { Repeats } from './gateway/repeats.ts'
import type { Ledger } from './ledger/ledger.ts'
import type { Redemptions } from './ledger/redemptions.ts'
import type { Notifier, Told } from './notices/notifier.ts'
import type { Log } from './telemetry/log.ts'
import type { Chore } from './tending.ts'

export interface ChoresDeps {
  readonly ledger: Ledger
  readonly redemptions: Redemptions
  readonly directory: Directory
  readonly people: People
  readonly captures: Captures
  readonly repeats: Repeats
  readonly recollection: Recollection
  readonly notifier: Notifier
  readonly replicas: Replicas | undefined
  readonly upkeep: Upkeep | undefined
  readonly log: Log
  readonly clock: () => number
}

/** How often everything is looked after that says nothing else. */
export const CHORES_MS = 20_000

/** A month is begun long before it comes, and forgotten when nobody waits for it. */
const UPKEEP_MS = 3_600_000

/** What a running Duet looks after by itself. */
export function choresOf(deps: ChoresDeps): readonly Chore[] {
  const { directory, people, captures, repeats, recollection, notifier, replicas, upkeep, log, clock } = deps
  return [
    { name: 'tending the ledger', everyMs: TEND_MS, run: () => tendLedger(deps) },
    { name: 'paying interrupted redemptions', run: () => payInterrupted(deps) },
    { name: 'writing down when keys were used', run: () => directory.keepLastUsed() },
    { name: 'forgetting sessions that have ended', run: () => people.sweep(clock()) },
    { name: 'forgetting stored prompts that have expired', isSlow: true, run: () => captures.purge(clock()) },
    { name: 'forgetting answers that nobody asked for again', isSlow: true, run: () => repeats.forgetExpired() },
    { name: 'forgetting conversations that do not go on', run: async () => recollection.forgetExpired() },
    { name: 'telling low balances', isSlow: true, run: async () => logTold(await notifier.check(), log) },
    ...(replicas ? choresAmong(replicas, deps) : []),
    ...(upkeep
      ? [{ name: 'keeping up the months', isSlow: true, everyMs: UPKEEP_MS, run: () => keepUp(upkeep, deps) }]
      : []),
  ]
}

const choresAmong = (replicas: Replicas, { repeats }: ChoresDeps): readonly Chore[] => [
  { name: 'giving back names of calls that are over', everyMs: TEND_MS, run: () => repeats.giveBackNames() },
  { name: 'forgetting what other replicas did', run: () => replicas.tidy() },
]

async function tendLedger({ ledger, log }: ChoresDeps): Promise<void> {
  const { overdue, recovered } = await ledger.tend()
  if (overdue > 0) log.error('settlements wait to be written', { settlements: overdue })
  if (recovered > 0) log.error('released holds that belonged to no call', { holds: recovered })
}

async function payInterrupted({ redemptions, log }: ChoresDeps): Promise<void> {
  const paid = await redemptions.makeGood()
  if (paid > 0) log.info('paid codes whose redemption was interrupted', { codes: paid })
}

async function keepUp(upkeep: Upkeep, { log }: ChoresDeps): Promise<void> {
  const done = await upkeep.keepUp()
  if (done.length > 0) log.info('kept up the months of the database', { done })
}

function logTold(told: readonly Told[], log: Log): void {
  for (const { account, to, error } of told) {
    if (error === undefined) log.info('told that a balance is low', { account, to })
    else log.error('could not tell that a balance is low', { account, to, problem: error })
  }
}
