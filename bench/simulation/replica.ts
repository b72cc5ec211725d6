import type { Agenda } from './agenda.ts'
import type { Database, Operation } from './database.ts'
import type { Cores } from './resources.ts'
import { BATCH_OPERATIONS_MAX, type Costs } from './scenario.ts'

interface Waiting {
  readonly operation: Operation
  readonly answer: (outcome: boolean) => void
}

export interface ReplicaOptions {
  readonly agenda: Agenda
  readonly database: Database
  readonly cores: Cores
  readonly costs: Costs
}

/** As `src/ledger/ledger.ts`: one batch is under way, and whatever comes meanwhile is the next one. */
export class Replica {
  isDead = false
  private waiting: Waiting[] = []
  private isUnderWay = false
  private readonly agenda: Agenda
  private readonly database: Database
  private readonly cores: Cores
  private readonly costs: Costs

  constructor({ agenda, database, cores, costs }: ReplicaOptions) {
    this.agenda = agenda
    this.database = database
    this.cores = cores
    this.costs = costs
  }

  /** What it has to do besides: its one thread does one thing after the other. */
  work(takes: number, done: () => void): void {
    if (takes === 0) done()
    else this.cores.use(takes, done)
  }

  submit(operation: Operation, answer: (outcome: boolean) => void): void {
    if (this.isDead) return
    this.waiting.push({ operation, answer })
    if (!this.isUnderWay) this.send()
  }

  /** What was sent goes on in the database; nobody hears what becomes of it. */
  die(): void {
    this.isDead = true
    this.waiting = []
  }

  private send(): void {
    const batch = this.waiting.splice(0, BATCH_OPERATIONS_MAX)
    this.isUnderWay = true
    const { replicaPerBatch, replicaPerOperation, roundTrip } = this.costs
    const halfOfWork = (replicaPerBatch + replicaPerOperation * batch.length) / 2
    this.work(halfOfWork, () => {
      if (this.isDead) return
      this.agenda.after(roundTrip / 2, () =>
        this.database.commit(
          batch.map(({ operation }) => operation),
          outcomes => this.agenda.after(roundTrip / 2, () => this.work(halfOfWork, () => this.answer(batch, outcomes))),
        ),
      )
    })
  }

  /** Whoever asks for more at once when they are answered is in the next batch. */
  private answer(batch: readonly Waiting[], outcomes: readonly boolean[]): void {
    if (this.isDead) return
    batch.forEach(({ answer }, place) => {
      answer(outcomes[place] as boolean)
    })
    this.isUnderWay = false
    if (this.waiting.length > 0) this.send()
  }
}
