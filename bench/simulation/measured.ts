import { join } from 'node:path'
import type { Costs } from './scenario.ts'

/** What the simulation takes from the real thing: `npm run bench:ledger-postgres` writes it. */
export interface Measured {
  readonly machine: string
  readonly costs: Costs
  readonly runs: readonly MeasuredRun[]
}

/** Real replicas that held and settled on one machine with their database; milliseconds. */
export interface MeasuredRun {
  readonly store: string
  readonly replicas: number
  readonly callersPerReplica: number
  readonly accounts: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly operationsPerBatch: number
}

const FILE = join(import.meta.dir, 'measured.json')

export const readMeasured = (): Promise<Measured> => Bun.file(FILE).json() as Promise<Measured>

export async function writeMeasured(measured: Measured): Promise<void> {
  await Bun.write(FILE, `${JSON.stringify(measured, null, 2)}\n`)
}
