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
  readonly lanes: number
}

/** As `src/ledger/ledger.ts`, but for its lanes: accounts are divided among them, and each has one batch under way. */
export class Replica {
  isDead = false
  private readonly cores: Cores
  private readonly lanes: readonly Lane[]

  constructor(options: ReplicaOptions) {
    this.cores = options.cores
    this.lanes = Array.from({ length: options.lanes }, () => new Lane(this, options))
  }

  /** What it has to do besides: its one thread does one thing after the other. */
  work(takes: number, done: () => void): void {
    if (takes === 0) done()
    else this.cores.use(takes, done)
  }

  submit(operation: Operation, answer: (outcome: boolean) => void): void {
    if (this.isDead) return
    const number = operation.type === 'tend' ? 0 : operation.request.account % this.lanes.length
    this.lanes[number]?.submit({ operation, answer })
  }

  /** What was sent goes on in the database; nobody hears what becomes of it. */
  die(): void {
    this.isDead = true
  }
}

/** One batch is under way, and whatever comes meanwhile is the next one. */
class Lane {
  private readonly waiting: Waiting[] = []
  private isUnderWay = false
  private readonly replica: Replica
  private readonly agenda: Agenda
  private readonly database: Database
  private readonly costs: Costs

  constructor(replica: Replica, { agenda, database, costs }: ReplicaOptions) {
    this.replica = replica
    this.agenda = agenda
    this.database = database
    this.costs = costs
  }

  submit(waiting: Waiting): void {
    this.waiting.push(waiting)
    if (!this.isUnderWay) this.send()
  }

  private send(): void {
    const batch = this.waiting.splice(0, BATCH_OPERATIONS_MAX)
    this.isUnderWay = true
    const { replicaPerBatch, replicaPerOperation, roundTrip } = this.costs
    const halfOfWork = (replicaPerBatch + replicaPerOperation * batch.length) / 2
    this.replica.work(halfOfWork, () => {
      if (this.replica.isDead) return
      this.agenda.after(roundTrip / 2, () =>
        this.database.commit(
          batch.map(({ operation }) => operation),
          outcomes =>
            this.agenda.after(roundTrip / 2, () => this.replica.work(halfOfWork, () => this.answer(batch, outcomes))),
        ),
      )
    })
  }

  /** Whoever asks for more at once when they are answered is in the next batch. */
  private answer(batch: readonly Waiting[], outcomes: readonly boolean[]): void {
    if (this.replica.isDead) return
    batch.forEach(({ answer }, place) => {
      answer(outcomes[place] as boolean)
    })
    this.isUnderWay = false
    if (this.waiting.length > 0) this.send()
  }
}
