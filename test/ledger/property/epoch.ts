import { join } from 'node:path'
import type { Closing } from '../../../src/core/ledger.ts'
import { NO_USAGE } from '../../../src/core/usage.ts'
import { verify } from '../../../src/ledger/verify.ts'
import { Broken, checkAdmissions, checkChain, checkNoFormerOwner, checkSums, say } from './checks.ts'
import type { Fault } from './crashing-database.ts'
import type { Journey } from './driver.ts'
import { apply, type Circumstances, explain, type Logged } from './explain.ts'
import { chooseFault, IN_JOURNAL, kill, killAtStart } from './faults.ts'
import { Generator, type Step } from './generate.ts'
import { type Engine, isLife, type Life, type Mortal } from './life.ts'
import type { Model } from './model.ts'
import {
  ask,
  describe,
  type Operation,
  type Question,
  type Submission,
  secretHashOf,
  UNAVAILABLE,
} from './operations.ts'
import type { Random } from './random.ts'
import type { Sabotage } from './sabotage.ts'

export interface EpochOptions {
  readonly number: number
  readonly random: Random
  readonly folder: string
  readonly engine: Engine
  readonly model: Model
  readonly journey: Journey
  readonly sabotage: Sabotage | undefined
}

const HOUR_MS = 3_600_000
const RESTARTS = 0.003
const VERIFICATIONS = 0.003
const KEY_CHECKS = 0.2
const DEATHS_IN_RECOVERY = 0.2
const DEATHS_AT_START = 0.2
/** Of steps that leave rows in the journal: looking brings them into the tables, and many must gather there, too. */
const UNLOOKED = 0.6
const LAST_DEATHS = 0.2

const AT_REST: Fault = { type: 'kill', point: 'at rest', skip: 0 }
const RESTARTED: Circumstances = { isReopened: true, hasDied: false, hasFailed: false, isAnswerLost: false }

/** One database, from its beginning through several processes to its last verification. */
export class Epoch {
  steps = 0
  private readonly options: EpochOptions
  private readonly random: Random
  private readonly generator: Generator
  private now = 1_750_000_000_000
  private lives = 0
  private begun: Life | undefined
  private model: Model
  /** The model at the last look, and what went well since then. */
  private seen: Model
  private unlooked: Logged[] = []
  private heads: ReadonlyMap<string, string> = new Map()
  private usageId = 0n
  /** Settlements that the ledger keeps in memory until it is tended. */
  private overdue: Closing[] = []
  private log: Logged[] = []

  constructor(options: EpochOptions) {
    this.options = options
    this.random = options.random
    this.generator = new Generator(options.random)
    this.model = options.model
    this.seen = this.model
  }

  async begin(place: string): Promise<void> {
    this.begun = await this.beginLife(place)
    this.model.owner = this.life.owner
  }

  private get life(): Life {
    if (!this.begun) throw new Error('it has not begun')
    return this.begun
  }

  async run(steps: number): Promise<void> {
    try {
      for (const question of this.generator.opening(this.model, this.now)) await this.perform(only(question))
      while (this.steps < steps) await this.step()
      if (this.random.chance(LAST_DEATHS)) await this.perform({ submissions: [] }, AT_REST)
      await this.verify()
    } finally {
      await this.life.db.bury()
    }
  }

  /** For messages. */
  lastStep(): string {
    return this.log.map(({ operation, answer }) => `  ${describe(operation)} -> ${answer ?? 'no answer'}`).join('\n')
  }

  private async step(): Promise<void> {
    this.now += this.random.chance(0.01) ? HOUR_MS : this.random.between(1, 2_000)
    if (this.random.chance(RESTARTS)) await this.restart()
    const step = this.generator.step(this.model, this.now)
    const isBehind = this.overdue.length > 0 || this.model.strays.size > 0
    const fault = chooseFault(this.random, step, isBehind)
    await this.perform(isBehind ? withTendAlone(step) : step, fault)
    if (this.random.chance(KEY_CHECKS)) await this.checkKey()
    if (this.random.chance(VERIFICATIONS)) await this.verify()
    this.steps++
    this.options.journey.steps++
  }

  // ── one step ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Submits everything in one tick, lets go wrong what goes wrong, and looks at what has become of it. */
  private async perform({ submissions, admissions }: Step, fault?: Fault): Promise<void> {
    const { db } = this.life
    this.log = []
    db.arm(fault)
    await Promise.all(submissions.map(submission => this.submit(submission)))
    if (fault?.point === 'at rest') await db.die('at rest')

    const hasDied = db.isDead
    const hasFailed = db.hasFailed && !hasDied
    db.arm(undefined)
    if (hasDied) await this.reopen()
    const isAnswerLost = hasFailed && (fault?.point === 'after the commit' || fault?.point === 'after a single write')
    if (this.mayBeUnlooked({ hasDied, hasFailed })) this.goOn()
    else await this.check({ isReopened: hasDied, hasDied, hasFailed, isAnswerLost })
    if (admissions !== undefined && !hasDied && !hasFailed) checkAdmissions(admissions, this.log)

    if (hasDied) await this.recover()
    else this.settleLater(this.log)
  }

  private async submit({ question, next }: Submission): Promise<void> {
    const { db } = this.life
    const logged = this.partsOf(question).map(operation => ({ operation, answer: undefined }) as Logged)
    this.log.push(...logged)

    const answer = await ask(question, this.life)
    if (db.isDead && (answer === UNAVAILABLE || answer.startsWith('failed'))) return
    this.options.journey.count(question, answer)
    // What has several parts is answered with the last of them, or failed as a whole.
    for (const part of answer === UNAVAILABLE ? logged : logged.slice(-1)) part.answer = answer
    if (question.type === 'tend' && answer !== UNAVAILABLE) this.overdue = []
    if (next && (question.type !== 'hold' || answer.startsWith('held'))) await this.submit(next)
  }

  private partsOf(question: Question): readonly Operation[] {
    if (question.type !== 'tend') return [question]
    return [{ type: 'renew', at: question.at }, ...this.overdue.map(settle), { type: 'recover' }]
  }

  /** As the gateway does: a settlement that could not be written is left to the ledger. */
  private settleLater(failed: readonly Logged[]): void {
    for (const { operation, answer } of failed) {
      if (answer !== UNAVAILABLE || operation.type !== 'settle' || this.overdue.includes(operation.closing)) continue
      const closing = this.random.chance(0.5) ? operation.closing : undelivered(operation.closing)
      this.life.ledger.settleLater(closing)
      this.overdue.push(closing)
    }
  }

  private mayBeUnlooked({ hasDied, hasFailed }: Pick<Circumstances, 'hasDied' | 'hasFailed'>): boolean {
    const isInJournal = this.log.every(({ operation }) => IN_JOURNAL.includes(operation.type))
    return isInJournal && !hasDied && !hasFailed && this.random.chance(UNLOOKED)
  }

  /** What went well is believed for now: the next look finds all of it, or what is missing. */
  private goOn(): void {
    this.model = apply(this.model, this.log)
    this.unlooked.push(...this.log)
  }

  private async check(how: Circumstances): Promise<void> {
    const found = await this.life.looker.look({ accounts: this.seen.accounts, usageId: this.usageId })
    checkSums(found)
    this.model = explain(this.seen, { before: this.unlooked, log: this.log }, found, how)
    this.model.owner = this.life.owner
    this.seen = this.model
    this.unlooked = []
    this.heads = checkChain(this.heads, found)
    this.usageId = found.usage.at(-1)?.id ?? this.usageId
  }

  /** A key that was revoked or disabled lets nobody in, from that moment on. */
  private async checkKey(): Promise<void> {
    const id = this.random.pick([...this.model.keys.keys()])
    const caller = await this.life.directory.authenticate(secretHashOf(id), this.now)
    const isRight = this.model.isUsable(id) ? caller !== undefined : caller === undefined
    if (!isRight) throw new Broken('answers', `key ${id} is known as ${say(caller)}`)
  }

  private async verify(): Promise<void> {
    const { problem } = await verify(this.life.audit)
    if (problem) throw new Broken(8, `verify says: ${say(problem)}`)
    this.options.journey.verifications++
  }

  // ── lives ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  private async beginLife(place: string, fault?: Fault): Promise<Life> {
    const { folder, number, random, engine, sabotage, journey } = this.options
    const life = ++this.lives
    const begun = await engine.begin({
      ...{ place, remains: join(folder, `epoch-${number}-${life}.db`), toll: journey.toll, sabotage, fault },
      ...{ owner: `process ${life}`, clock: () => this.now, logPagesMax: random.pick([20, 200, 8_000]) },
      foldRows: random.pick([1, 15, 1_000]),
    })
    return isLife(begun) ? begun : this.beginAfter(begun)
  }

  /** The next process finds what the dead one has left. */
  private async beginAfter(dead: Mortal): Promise<Life> {
    const fault = this.random.chance(DEATHS_AT_START) ? killAtStart(this.random) : undefined
    const life = await this.beginLife(dead.remains, fault)
    await dead.bury()
    return life
  }

  private async reopen(): Promise<void> {
    this.begun = await this.beginAfter(this.life.db)
    this.overdue = []
  }

  /** The first thing a process does. It can die of it, too. */
  private async recover(): Promise<void> {
    const step = only({ type: 'recover' })
    await this.life.waitForDeaths()
    await this.perform(step, this.random.chance(DEATHS_IN_RECOVERY) ? kill(this.random, step) : undefined)
    checkNoFormerOwner(await this.life.looker.holds(), this.life.owner)
  }

  /** An orderly end: what is overdue is written, what is held is left. */
  private async restart(): Promise<void> {
    const { ledger, db, place } = this.life
    this.log = this.overdue.map(closing => ({ operation: settle(closing), answer: undefined }))
    await ledger.drain()
    await db.close()
    this.begun = await this.beginLife(place)
    await this.check(RESTARTED)
    this.overdue = []
    await this.recover()
  }
}

const only = (question: Question): Step => ({ submissions: [{ question }] })

const settle = (closing: Closing): Operation => ({ type: 'settle', closing })

/** Only alone it is known when `tend` writes what is overdue, and gives back what is nobody's. */
const withTendAlone = ({ submissions, ...step }: Step): Step => ({
  ...step,
  submissions: submissions.length === 1 ? submissions : submissions.filter(({ question }) => question.type !== 'tend'),
})

/** An answer that could not be settled was not delivered. */
const undelivered = (closing: Closing): Closing => ({
  ...closing,
  ...{ status: 'ledger_unavailable', ending: undefined, usage: NO_USAGE, source: 'estimated' },
})
