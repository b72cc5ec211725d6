import { median } from '../results.ts'
import type { Outcome } from './contest.ts'

/** What one run of a contest came to, for all its replicas together. */
export interface Figures {
  readonly perSecond: number
  /** Milliseconds for hold and settlement. */
  readonly p50: number
  readonly p99: number
  readonly operationsPerBatch: number
  readonly accountsPerBatch: number
  readonly roundTripsPerPair: number
  /** Microseconds of processor time. */
  readonly duetPerPair: number
  readonly duetPerBatch: number
  readonly databasePerPair: number
  readonly databasePerBatch: number
  readonly walBytesPerPair: number
  /** Microseconds. */
  readonly flush: number
  readonly flushesPerSecond: number
  readonly insertedPerPair: number
  readonly updatedPerPair: number
  readonly deletedPerPair: number
  readonly bytesPerPair: number
}

export function figuresOf({ replicas, database, written }: Outcome): Figures {
  const sum = (name: 'pairs' | 'pairsInAll' | 'batches' | 'operations' | 'accounts' | 'cpuMicroseconds') =>
    replicas.reduce((total, counted) => total + counted[name], 0)
  const [pairs, batches, seconds] = [sum('pairs'), sum('batches'), median(replicas.map(one => one.seconds))]
  const inAll = sum('pairsInAll')
  return {
    perSecond: pairs / seconds,
    p50: median(replicas.map(({ p50 }) => p50)),
    p99: Math.max(...replicas.map(({ p99 }) => p99)),
    operationsPerBatch: sum('operations') / batches,
    accountsPerBatch: sum('accounts') / batches,
    roundTripsPerPair: batches / pairs,
    duetPerPair: sum('cpuMicroseconds') / pairs,
    duetPerBatch: sum('cpuMicroseconds') / batches,
    databasePerPair: (database?.cpu ?? 0) / pairs,
    databasePerBatch: (database?.cpu ?? 0) / batches,
    walBytesPerPair: (database?.walBytes ?? 0) / pairs,
    flush: (database?.flushMicroseconds ?? 0) / (database?.flushes || 1),
    flushesPerSecond: (database?.flushes ?? 0) / seconds,
    insertedPerPair: (written?.inserted ?? 0) / inAll,
    updatedPerPair: (written?.updated ?? 0) / inAll,
    deletedPerPair: (written?.deleted ?? 0) / inAll,
    bytesPerPair: (written?.bytes ?? 0) / inAll,
  }
}

/** Of each figure the middle one of all rounds. */
export function medians(rounds: readonly Figures[]): Figures {
  const [first] = rounds
  if (!first) throw new Error('there was no round')
  const names = Object.keys(first) as (keyof Figures)[]
  return Object.fromEntries(names.map(name => [name, median(rounds.map(round => round[name]))])) as unknown as Figures
}
