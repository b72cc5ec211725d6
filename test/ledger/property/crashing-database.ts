import type { Statement } from 'bun:sqlite'
import { copyFileSync, existsSync, rmSync } from 'node:fs'
import type { Result, Statement as Step, Value } from '../../../src/store/database.ts'
import { EmbeddedDatabase } from '../../../src/store/sqlite/database.ts'
import type { Mortal } from './life.ts'

/** Where a process can die: around every write, and around every commit. */
export const POINTS = [
  'before a transaction',
  'before its first write',
  'between two writes',
  'before the commit',
  'after the commit',
  'before a single write',
  'after a single write',
  'at rest',
] as const

export type Point = (typeof POINTS)[number]

/** What goes wrong at a point, after it was passed `skip` times. */
export type Fault = { readonly point: Point; readonly skip: number } & (
  | { readonly type: 'kill' }
  /** The disk fails for so many writes; the process lives. */
  | { readonly type: 'fail'; readonly writes: number }
)

/** The disk does not do what it was asked to. */
export class DatabaseFailed extends Error {}

/** What went wrong so far, over all databases of a run. */
export class Toll {
  readonly deaths = new Map<Point, number>()
  /** Statements, by verb and table: those that were written, and those before which a process died. */
  readonly written = new Set<string>()
  readonly diedBefore = new Set<string>()
  failures = 0

  get killed(): number {
    return [...this.deaths.values()].reduce((sum, deaths) => sum + deaths, 0)
  }
}

export interface CrashingOptions {
  readonly path: string
  /** Where the next process finds what this one leaves behind. */
  readonly remains: string
  readonly logPagesMax: number
  readonly toll: Toll
}

/**
 * A database whose process can die at any point: what the files contain in that instant is copied for the next process,
 * and nothing can be read or written any more.
 */
export class CrashingDatabase extends EmbeddedDatabase implements Mortal {
  readonly remains: string
  private readonly path: string
  private readonly toll: Toll
  private fault: Fault | undefined
  private failing = 0
  /** Within the transaction under way; undefined outside. */
  private writes: number | undefined
  private isClosed = false
  isDead = false
  /** Whether the fault that was armed last has happened. */
  hasFailed = false

  constructor({ path, remains, logPagesMax, toll }: CrashingOptions) {
    super({ path, durability: 'process' })
    this.path = path
    this.remains = remains
    this.toll = toll
    // A short log makes processes die with some of their pages moved to the database already.
    super.script(`PRAGMA wal_autocheckpoint = ${logPagesMax}`)
    // Only a pulled plug can tell whether the disk was waited for, and nobody pulls one here.
    super.script('PRAGMA synchronous = OFF')
  }

  arm(fault: Fault | undefined): void {
    this.fault = fault
    this.failing = 0
    this.hasFailed = false
  }

  die(point: Point): void {
    this.isDead = true
    this.toll.deaths.set(point, (this.toll.deaths.get(point) ?? 0) + 1)
    copyFileSync(this.path, this.remains)
    if (existsSync(`${this.path}-wal`)) copyFileSync(`${this.path}-wal`, `${this.remains}-wal`)
  }

  override close(): void {
    if (!this.isClosed) super.close()
    this.isClosed = true
  }

  /** Gives back what the operating system would have taken from a dead process, and the files. */
  bury(): void {
    this.close()
    for (const file of [this.path, `${this.path}-wal`]) rmSync(file, { force: true })
  }

  // ── every access ──────────────────────────────────────────────────────────────────────────────────────────────────

  override prepare<Row>(sql: string): Statement<Row, Value[]> {
    const statement = super.prepare<Row>(sql)
    const run = statement.run.bind(statement)
    const get = statement.get.bind(statement)
    const all = statement.all.bind(statement)
    return Object.assign(statement, {
      run: (...values: Value[]) => this.access(sql, () => run(...values)),
      get: (...values: Value[]) => this.access(sql, () => get(...values)),
      all: (...values: Value[]) => this.access(sql, () => all(...values)),
    })
  }

  override first<Row>(sql: string, ...values: Value[]): Row | undefined {
    return this.access(sql, () => super.first<Row>(sql, ...values))
  }

  override rows<Row>(sql: string, ...values: Value[]): Row[] {
    return this.access(sql, () => super.rows<Row>(sql, ...values))
  }

  override change(sql: string, ...values: Value[]): number {
    return this.access(sql, () => super.change(sql, ...values))
  }

  override async peek<Row>(sql: string, ...values: Value[]): Promise<Row | undefined> {
    return this.access(sql, () => super.peek<Row>(sql, ...values))
  }

  protected override execute(step: Step): Result {
    return this.access(step.sql, () => super.execute(step))
  }

  override script(sql: string): void {
    this.access(sql, () => super.script(sql))
  }

  override atomically<T>(work: () => T): T {
    this.reach('before a transaction')
    this.writes = 0
    try {
      const done = this.together(() => {
        const result = work()
        this.reach('before the commit')
        return result
      })
      this.reach('after the commit')
      return done
    } finally {
      this.writes = undefined
    }
  }

  /** What makes a transaction one; a ledger that is broken on purpose does it differently. */
  protected together<T>(work: () => T): T {
    return super.atomically(work)
  }

  /** For that: a statement without a point of death. */
  protected plainly(sql: string): void {
    super.script(sql)
  }

  private access<T>(sql: string, work: () => T): T {
    if (this.isDead) throw new Error('the process is dead')
    if (isRead(sql)) return work()
    this.beforeWrite(sql)
    const done = work()
    if (this.writes === undefined) this.reach('after a single write')
    else this.writes++
    return done
  }

  private beforeWrite(sql: string): void {
    // Undefined while the database is being opened, before this class is constructed.
    if (!this.toll) return
    const statement = nameOf(sql)
    this.toll.written.add(statement)
    const wasAlive = !this.isDead
    try {
      if (this.writes === undefined) this.reach('before a single write')
      else this.reach(this.writes === 0 ? 'before its first write' : 'between two writes')
    } finally {
      if (wasAlive && this.isDead) this.toll.diedBefore.add(statement)
    }
    if (this.failing > 0) this.fail()
  }

  private reach(point: Point): void {
    if (this.isDead) throw new Error('the process is dead')
    const { fault } = this
    if (fault?.point !== point) return
    if (fault.skip > 0) {
      this.fault = { ...fault, skip: fault.skip - 1 }
      return
    }
    this.fault = undefined
    this.hasFailed = true
    if (fault.type === 'fail') {
      this.failing = fault.writes
      this.fail()
    }
    this.die(point)
    throw new Error('the process was killed')
  }

  private fail(): never {
    this.failing--
    this.toll.failures++
    throw new DatabaseFailed('disk I/O error')
  }
}

const WRITE = /\b(INSERT|UPDATE|DELETE)\b(?:\s+(?:OR\s+\w+|INTO|FROM))*\s+(\w+)/i

const isRead = (sql: string): boolean => /^\s*(SELECT|PRAGMA)/i.test(sql) || (/^\s*WITH/i.test(sql) && !WRITE.test(sql))

/** `UPDATE accounts`, `INSERT holds`: enough to tell writes apart. */
function nameOf(sql: string): string {
  const [, verb, table] = WRITE.exec(sql) ?? []
  return verb && table ? `${verb} ${table}` : sql.trim().slice(0, 40)
}
