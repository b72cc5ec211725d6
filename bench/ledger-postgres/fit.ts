import type { Costs } from '../simulation/scenario.ts'
import type { Contest } from './contest.ts'
import type { Figures } from './figures.ts'

export interface Run extends Contest {
  readonly figures: Figures
}

/**
 * What a batch costs, and each operation and account in it, from runs with batches of different sizes. One replica is
 * enough for it: what comes of two and three is then a prediction that can be compared.
 */
export function costsOf(runs: readonly Run[], databasePerPoll: number): Costs {
  const ofOne = runs.filter(({ store, replicas }) => store === 'postgres' && replicas === 1)
  const alone = ofOne.find(({ callersPerReplica, accounts }) => callersPerReplica === 1 && accounts === 1)
  if (!alone) throw new Error('nobody was measured alone')
  const database = leastSquares(
    ofOne.map(({ figures: { databasePerBatch: cost, operationsPerBatch, accountsPerBatch } }) => ({
      parts: [1, operationsPerBatch, accountsPerBatch],
      cost,
    })),
  )
  const duet = leastSquares(
    ofOne.map(({ figures: { duetPerBatch: cost, operationsPerBatch } }) => ({ parts: [1, operationsPerBatch], cost })),
  )
  const [databasePerBatch = 0, databasePerOperation = 0, databasePerAccount = 0] = database
  const [replicaPerBatch = 0, replicaPerOperation = 0] = duet
  const { flush, p50 } = alone.figures
  const work = databasePerBatch + databasePerOperation + databasePerAccount + replicaPerBatch + replicaPerOperation
  // What is left of the time that one operation takes when nobody else is there. Where nothing is, more was done than
  // anybody waited for: by the processes that write pages and the log, and while the log was flushed.
  const left = (p50 * 1_000) / 2 - work - flush
  const databaseBeside = Math.min(databasePerBatch, Math.max(0, -left))
  return {
    roundTrip: Math.max(0, left),
    databasePerBatch: databasePerBatch - databaseBeside,
    databaseBeside,
    databasePerOperation,
    databasePerAccount,
    databasePerPoll,
    replicaPerBatch,
    replicaPerOperation,
    flush,
  }
}

interface Sample {
  readonly parts: readonly number[]
  readonly cost: number
}

/** How much of the cost each part makes, with relative errors as small as possible and nothing below zero. */
export function leastSquares(samples: readonly Sample[], without: ReadonlySet<number> = new Set()): number[] {
  const places = [...(samples[0]?.parts.keys() ?? [])].filter(place => !without.has(place))
  const weighted = samples.map(({ parts, cost }) => places.map(place => (parts[place] ?? 0) / cost))
  const matrix = places.map((_, row) => [
    ...places.map((_, column) => total(weighted, sample => (sample[row] ?? 0) * (sample[column] ?? 0))),
    total(weighted, sample => sample[row] ?? 0),
  ])
  const solved = solve(matrix)
  const negative = solved.findIndex(value => value < 0)
  if (negative >= 0) return leastSquares(samples, new Set([...without, places[negative] ?? -1]))
  return (samples[0]?.parts ?? []).map((_, place) => solved[places.indexOf(place)] ?? 0)
}

const total = <T>(values: readonly T[], of: (value: T) => number): number =>
  values.reduce((sum, value) => sum + of(value), 0)

/** Linear equations, each a row with its right side last. */
function solve(rows: readonly number[][]): number[] {
  const matrix = rows.map(row => [...row])
  for (const pivot of matrix.keys()) {
    const best = [...matrix.keys()]
      .slice(pivot)
      .reduce((a, b) => (abs(matrix, b, pivot) > abs(matrix, a, pivot) ? b : a))
    const row = matrix[best] ?? []
    matrix[best] = matrix[pivot] ?? []
    matrix[pivot] = row
    for (const other of matrix.keys()) {
      if (other === pivot) continue
      const share = (matrix[other]?.[pivot] ?? 0) / (row[pivot] || Number.EPSILON)
      matrix[other] = (matrix[other] ?? []).map((value, place) => value - share * (row[place] ?? 0))
    }
  }
  return matrix.map((row, place) => (row.at(-1) ?? 0) / (row[place] || Number.EPSILON))
}

const abs = (matrix: readonly number[][], row: number, column: number): number => Math.abs(matrix[row]?.[column] ?? 0)
