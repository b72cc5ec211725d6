import type { Database } from '../../../src/store/database.ts'
import { SqlDirectory } from '../../../src/store/directory.ts'
import { SqlPrices } from '../../../src/store/prices.ts'
import { Broken, PROMISES } from './checks.ts'
import { Toll } from './crashing-database.ts'
import { Epoch } from './epoch.ts'
import { ACCOUNTS, FIRST_PRICE, MODELS } from './generate.ts'
import type { Engine } from './life.ts'
import { Model } from './model.ts'
import { newKey, type Question } from './operations.ts'
import { randomOfEpoch } from './random.ts'
import type { Sabotage } from './sabotage.ts'

export interface DriverOptions {
  readonly seed: number
  readonly steps: number
  /** The only epoch to be driven; undefined for all of them. */
  readonly epoch?: number | undefined
  readonly folder: string
  readonly engine: Engine
  readonly sabotage?: Sabotage | undefined
}

/** What a run has seen. */
export class Journey {
  readonly toll = new Toll()
  readonly answers = new Map<string, number>()
  steps = 0
  epochs = 0
  verifications = 0

  count({ type }: Question, answer: string): void {
    const name = `${type}: ${answer.split(' ', 1)}`
    this.answers.set(name, (this.answers.get(name) ?? 0) + 1)
  }

  get operations(): number {
    return [...this.answers.values()].reduce((sum, count) => sum + count, 0)
  }
}

/** Sums over few rows are cheap, so that all of them can be made after each step: databases are short-lived. */
const EPOCH_STEPS = 120
const KEYS_PER_ACCOUNT = 2

/** Drives a ledger through so many steps, and throws the first promise that it finds broken. */
export async function drive({ seed, steps, epoch: only, folder, engine, sabotage }: DriverOptions): Promise<Journey> {
  const journey = new Journey()
  const epochs = Math.ceil(steps / EPOCH_STEPS)
  for (let number = only ?? 0; number < (only === undefined ? epochs : only + 1); number++) {
    const random = randomOfEpoch(seed, number)
    const place = await engine.create({ folder, number, fill })
    const epoch = new Epoch({ number, random, folder, engine, journey, sabotage, model: beginning(engine) })
    try {
      await epoch.begin(place)
      await epoch.run(Math.min(EPOCH_STEPS, steps - number * EPOCH_STEPS))
    } catch (error) {
      throw located(error, { seed, epoch: number, step: epoch.steps, log: epoch.lastStep() })
    }
    journey.epochs++
  }
  return journey
}

const KEYS = ACCOUNTS.flatMap(accountId =>
  Array.from({ length: KEYS_PER_ACCOUNT }, (_, place) => ({ keyId: `${accountId}-${place + 1}`, accountId, at: 0 })),
)

/** The accounts, keys and prices that every epoch begins with: in a database, and in the model. */
async function fill(db: Database): Promise<void> {
  const directory = new SqlDirectory(db)
  for (const id of ACCOUNTS) await directory.createAccount({ id, name: id, group: 'default', createdAt: 0 })
  for (const key of KEYS) await directory.createKey(newKey(key))
  for (const model of MODELS) await new SqlPrices(db).publish([{ model, price: FIRST_PRICE }], 0)
}

function beginning({ chargesInterrupted }: Engine): Model {
  const model = new Model(chargesInterrupted)
  for (const id of ACCOUNTS) model.addAccount(id)
  for (const { keyId, accountId } of KEYS) model.addKey(keyId, accountId)
  for (const name of MODELS) model.publish(name, FIRST_PRICE, 0)
  return model
}

interface Place {
  readonly seed: number
  readonly epoch: number
  readonly step: number
  readonly log: string
}

/** Says where it happened, and how to see it again. */
function located(error: unknown, { seed, epoch, step, log }: Place): unknown {
  if (!(error instanceof Error)) return error
  const what = error instanceof Broken ? `promise ${error.promise} (${PROMISES[error.promise]}) is broken` : 'failed'
  const place = `seed ${seed}, epoch ${epoch}, step ${step}: again with DUET_SEED=${seed} DUET_EPOCH=${epoch}`
  error.message = `${what} at ${place}\n\n${error.message}\n\nthe step was:\n${log}`
  return error
}
