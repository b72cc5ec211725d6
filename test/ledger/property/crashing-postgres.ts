import type { Value, Work } from '../../../src/store/database.ts'
import { PostgresDatabase } from '../../../src/store/postgres/database.ts'
import { DatabaseFailed, type Fault, type Point, type Toll } from './crashing-database.ts'
import type { Mortal } from './life.ts'

export interface CrashingPostgresOptions {
  readonly url: string
  readonly toll: Toll
  /** Connections that nothing happens to. */
  readonly eyes: PostgresDatabase
}

/** What is in the middle of a statement here is within the server: nobody but the server knows how far it has come. */
const BEFORE: readonly Point[] = [
  'before a transaction',
  'before its first write',
  'before the commit',
  'before a single write',
]
const AFTER: readonly Point[] = ['after the commit', 'after a single write']

const CUT = `
  SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'duet, mortal' AND pid <> pg_backend_pid()`

/**
 * A server whose client can die: before a statement is sent, after it was answered, and in between. A dead client's connections
 * are cut, and what the server was doing for it has then happened, or never will.
 */
export class CrashingPostgres extends PostgresDatabase implements Mortal {
  readonly remains: string
  private readonly toll: Toll
  private readonly eyes: PostgresDatabase
  private fault: Fault | undefined
  private failing = 0
  isDead = false
  hasFailed = false

  constructor({ url, toll, eyes }: CrashingPostgresOptions) {
    super({ url, connections: 3, settings: { application_name: 'duet, mortal' } })
    this.remains = url
    this.toll = toll
    this.eyes = eyes
  }

  arm(fault: Fault | undefined): void {
    this.fault = fault
    this.failing = 0
    this.hasFailed = false
  }

  async die(point: Point): Promise<void> {
    this.isDead = true
    this.toll.deaths.set(point, (this.toll.deaths.get(point) ?? 0) + 1)
    await this.eyes.all(CUT)
  }

  override async close(): Promise<void> {
    await super.close()
    await this.eyes.close()
  }

  bury(): Promise<void> {
    return this.close()
  }

  // ── every access ──────────────────────────────────────────────────────────────────────────────────────────────────

  override get<Row>(sql: string, ...values: Value[]): Promise<Row | undefined> {
    return this.access(sql, () => super.get<Row>(sql, ...values))
  }

  override all<Row>(sql: string, ...values: Value[]): Promise<readonly Row[]> {
    return this.access(sql, () => super.all<Row>(sql, ...values))
  }

  override run(sql: string, ...values: Value[]): Promise<number> {
    return this.access(sql, () => super.run(sql, ...values))
  }

  override transaction<T>(work: () => Work<T>): Promise<T> {
    return this.access('transaction', () => super.transaction(work))
  }

  private async access<T>(sql: string, work: () => Promise<T>): Promise<T> {
    this.refuseDead()
    if (!isWrite(sql)) return work()
    await this.reach(BEFORE)
    if (this.failing > 0) this.fail()
    const done = this.isDue(['between two writes']) ? await this.cut(work) : await work()
    await this.reach(AFTER)
    return done
  }

  private refuseDead(): void {
    if (this.isDead) throw new Error('the process is dead')
  }

  /** Whether it is this point's turn. */
  private isDue(points: readonly Point[]): boolean {
    const { fault } = this
    if (!fault || !points.includes(fault.point)) return false
    if (fault.skip > 0) this.fault = { ...fault, skip: fault.skip - 1 }
    return fault.skip <= 0
  }

  private async reach(points: readonly Point[]): Promise<void> {
    this.refuseDead()
    const { fault } = this
    if (!fault || !this.isDue(points)) return
    this.fault = undefined
    this.hasFailed = true
    if (fault.type === 'fail') {
      this.failing = fault.writes
      this.fail()
    }
    await this.die(fault.point)
    throw new Error('the process was killed')
  }

  /** The connection goes while the server works; a process that lives on does not know what has become of it. */
  private async cut<T>(work: () => Promise<T>): Promise<T> {
    const { fault } = this
    this.fault = undefined
    if (fault?.type !== 'kill') return work()
    this.hasFailed = true
    const lost = work().catch(() => undefined)
    // Sometimes it has not begun, sometimes it is over; mostly it is under way.
    await Bun.sleep(Math.random() * 2)
    await this.die(fault.point)
    await lost
    throw new Error('the process was killed')
  }

  private fail(): never {
    this.failing--
    this.toll.failures++
    throw new DatabaseFailed('the connection is gone')
  }
}

const isWrite = (sql: string): boolean => !/^\s*(SELECT(?!\s+duet_)|WITH)\b/i.test(sql)
