import { percentile } from '../../src/core/percentile.ts'
import { Agenda } from './agenda.ts'
import { accountsOf, Chance } from './chance.ts'
import { Database, type Request } from './database.ts'
import { Replica } from './replica.ts'
import { Cores } from './resources.ts'
import { HELD, POLL_MICROSECONDS, type Scenario, TEND_MICROSECONDS } from './scenario.ts'

/** What can be too little of, and how busy each was: 1 is all the time. */
export interface Busy {
  readonly 'database CPU': number
  readonly 'WAL flush': number
  /** The most used account: who is locked is nobody else's. */
  readonly 'hot row': number
  /** All of them together. */
  readonly replicas: number
}

/** Microseconds that hold and settlement took together. */
export interface Waits {
  readonly mean: number
  readonly p50: number
  readonly p99: number
}

export interface Simulated extends Waits {
  /** Requests that came. */
  readonly askedPerSecond: number
  /** Requests that were settled. */
  readonly perSecond: number
  readonly operationsPerBatch: number
  readonly batchesPerSecond: number
  readonly flushesPerSecond: number
  readonly busy: Busy
  /** At the very end. */
  readonly books: Books
}

export interface Books {
  readonly deposited: number
  readonly balance: number
  readonly charged: number
  readonly held: number
  readonly holdsOpen: number
  readonly admitted: number
  readonly refused: number
  readonly settled: number
  readonly interrupted: number
}

const SECOND = 1_000_000

/** The ledger's protocol from beginning to end, without a ledger: who waits how long for what. */
export function simulate(scenario: Scenario): Simulated {
  return new Simulation(scenario).run()
}

class Simulation {
  private readonly scenario: Scenario
  private readonly agenda = new Agenda()
  private readonly chance: Chance
  private readonly nextAccount: () => number
  private readonly databaseCores: Cores
  private readonly replicaCores: readonly Cores[]
  private readonly database: Database
  private readonly replicas: readonly Replica[]
  /** Their numbers; whoever balances the load knows who is dead. */
  private alive: readonly number[]
  private readonly waits: number[] = []
  private askedInTime = 0
  private settledInTime = 0
  private requests = 0

  constructor(scenario: Scenario) {
    const { agenda } = this
    const { costs, replicas, lanes, databaseCores, isOneMachine, spread, accounts, balance, seed } = scenario
    this.scenario = scenario
    this.chance = new Chance(seed)
    this.nextAccount = accountsOf(spread, accounts, this.chance)
    this.databaseCores = new Cores(agenda, databaseCores)
    const cores = isOneMachine ? undefined : Array.from({ length: replicas }, () => new Cores(agenda, 1))
    this.replicaCores = cores ?? [this.databaseCores]
    this.database = new Database({ agenda, cores: this.databaseCores, costs, accounts, balance })
    this.replicas = Array.from({ length: replicas }, (_, place) => {
      const own = cores?.[place] ?? this.databaseCores
      return new Replica({ agenda, database: this.database, cores: own, costs, lanes })
    })
    this.alive = [...this.replicas.keys()]
  }

  run(): Simulated {
    const { load, deaths, seconds, isDrained } = this.scenario
    for (const place of this.replicas.keys()) {
      this.tendLater(place)
      this.pollLater(place)
    }
    for (const { replica, atSeconds } of deaths) this.agenda.after(atSeconds * SECOND, () => this.kill(replica))
    if ('perSecond' in load) this.arrive(SECOND / load.perSecond)
    else for (const place of this.replicas.keys()) this.startCallers(place, load.callersPerReplica)
    let simulated: Omit<Simulated, keyof Waits | 'books'> | undefined
    this.agenda.after(seconds * SECOND, () => {
      simulated = this.look()
    })
    this.agenda.run(isDrained ? Number.POSITIVE_INFINITY : seconds * SECOND)
    if (!simulated) throw new Error('the simulation ended before its time')
    return { ...simulated, ...waitsOf(this.waits), books: this.books() }
  }

  // ── requests ──────────────────────────────────────────────────────────────────────────────────────────────────────

  private arrive(meanGap: number): void {
    this.agenda.after(this.chance.wait(meanGap), () => {
      if (this.isOver) return
      this.serve(this.alive[this.chance.below(this.alive.length)] as number, () => {})
      this.arrive(meanGap)
    })
  }

  private startCallers(replica: number, callers: number): void {
    const askAgain = () => {
      if (!this.isOver) this.serve(replica, askAgain)
    }
    for (let caller = 0; caller < callers; caller++) this.agenda.after(0, askAgain)
  }

  /** Held before the upstream is asked, settled before the caller has the end of the answer. */
  private serve(place: number, done: () => void): void {
    const { gatewayWork, upstream, isSticky } = this.scenario
    const request = this.newRequest()
    const owner = isSticky ? (this.alive[request.account % this.alive.length] as number) : place
    const replica = this.replicas[owner] as Replica
    let waited = 0
    replica.work(gatewayWork, () => {
      const begun = this.agenda.now
      replica.submit({ type: 'hold', request, owner }, isAdmitted => {
        waited += this.agenda.now - begun
        if (!isAdmitted) done()
        else if (upstream === 0) settle()
        else this.agenda.after(this.chance.wait(upstream), settle)
      })

      const settle = () => {
        const ended = this.agenda.now
        replica.submit({ type: 'settle', request, owner }, () => {
          this.served(begun, waited + this.agenda.now - ended)
          done()
        })
      }
    })
  }

  private newRequest(): Request {
    if (this.agenda.now >= this.scenario.warmUpSeconds * SECOND) this.askedInTime++
    return { id: this.requests++, account: this.nextAccount(), cost: 1 + this.chance.below(HELD) }
  }

  private served(begun: number, waited: number): void {
    const { warmUpSeconds } = this.scenario
    const { now } = this.agenda
    if (begun >= warmUpSeconds * SECOND) this.waits.push(waited)
    if (now >= warmUpSeconds * SECOND && !this.isOver) this.settledInTime++
  }

  // ── replicas ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Spread over time, as replicas do not start together; as long as there is anything to look after. */
  private tendLater(owner: number): void {
    const replica = this.replicas[owner] as Replica
    const tend = () => {
      if (replica.isDead || (this.isOver && this.database.holdsOpen === 0)) return
      replica.submit({ type: 'tend', owner }, () => {})
      this.agenda.after(TEND_MICROSECONDS, tend)
    }
    this.agenda.after((TEND_MICROSECONDS * owner) / this.replicas.length, tend)
  }

  /** Looks whether anything has changed: the safety net under notifications. */
  private pollLater(place: number): void {
    const poll = () => {
      if (this.isOver || this.replicas[place]?.isDead) return
      this.databaseCores.use(this.scenario.costs.databasePerPoll, () => {})
      this.agenda.after(POLL_MICROSECONDS, poll)
    }
    this.agenda.after((POLL_MICROSECONDS * place) / this.replicas.length, poll)
  }

  private kill(place: number): void {
    this.replicas[place]?.die()
    this.alive = this.alive.filter(other => other !== place)
  }

  private get isOver(): boolean {
    return this.agenda.now >= this.scenario.seconds * SECOND
  }

  // ── what is told ──────────────────────────────────────────────────────────────────────────────────────────────────

  private look(): Omit<Simulated, keyof Waits | 'books'> {
    const { seconds, warmUpSeconds, databaseCores, isOneMachine } = this.scenario
    const { now } = this.agenda
    const { log, locks, counts } = this.database
    const replicaBusy = this.replicaCores.reduce((sum, { busy }) => sum + busy, 0)
    return {
      askedPerSecond: this.askedInTime / (seconds - warmUpSeconds),
      perSecond: this.settledInTime / (seconds - warmUpSeconds),
      operationsPerBatch: counts.operations / counts.batches,
      batchesPerSecond: counts.batches / seconds,
      flushesPerSecond: log.flushes / seconds,
      busy: {
        'database CPU': this.databaseCores.busy / (now * databaseCores),
        'WAL flush': log.busy / now,
        'hot row': locks.longestLocked / now,
        replicas: isOneMachine ? 0 : replicaBusy / (now * this.replicaCores.length),
      },
    }
  }

  private books(): Books {
    const { balances, held, holdsOpen, counts } = this.database
    const { admitted, refused, settled, interrupted, charged } = counts
    const sum = (amounts: Float64Array) => amounts.reduce((total, amount) => total + amount, 0)
    return {
      deposited: this.scenario.accounts * this.scenario.balance,
      ...{ balance: sum(balances), held: sum(held), charged, holdsOpen, admitted, refused, settled, interrupted },
    }
  }
}

function waitsOf(waits: readonly number[]): Waits {
  const at = (percent: number) => percentile(waits, percent) ?? Number.NaN
  return { mean: waits.reduce((sum, wait) => sum + wait, 0) / waits.length, p50: at(50), p99: at(99) }
}
