import type { StoreBusy } from '../core/store.ts'
import { BATCH_OPERATIONS_MAX, type Waiting } from './waiting.ts'

export interface DetourDeps {
  /** Commits what belongs to one account. Returns why it could not be, where nothing has happened; everything else is told. */
  attempt(batch: readonly Waiting[]): Promise<StoreBusy | undefined>
  /** Tells whoever has waited for long enough. */
  refuse(waiting: Waiting, cause: StoreBusy): void
  /** How long a settlement is kept waiting. */
  readonly patienceMs: number
}

/** Whoever is not patient waits no longer than this, however many accounts are waited for. */
const IMPATIENT_MS_MAX = 2_000

/** Between two tries. To try is to wait for the lock, and lasts for a second by itself. */
const PAUSE_MS = 50

/**
 * Where operations wait for accounts that somebody else has locked, so that nobody else has to: one account after the other is
 * tried by itself. One that turns out to be free, and has nothing left to wait for it, goes the way of all others again.
 */
export class Detour {
  private readonly deps: DetourDeps
  /** By account, the one that is tried next first. An account may be locked and nobody wait for it. */
  private readonly queues = new Map<string, Waiting[]>()
  private tried: readonly Waiting[] = []
  private batchMax = BATCH_OPERATIONS_MAX
  private isRunning = false

  constructor(deps: DetourDeps) {
    this.deps = deps
  }

  /** Nearly always: all accounts go the same way. */
  get isClosed(): boolean {
    return this.queues.size === 0
  }

  /** Settlements that wait. */
  get settlements(): number {
    return [...this.tried, ...[...this.queues.values()].flat()].filter(({ isPatient }) => isPatient).length
  }

  leadsTo(accountId: string): boolean {
    return this.queues.has(accountId)
  }

  take(accountId: string, waiting: Waiting): void {
    waiting.lateSince ??= performance.now()
    const queue = this.queues.get(accountId)
    if (queue) queue.push(waiting)
    else this.queues.set(accountId, [waiting])
    if (!this.isRunning) this.run()
  }

  private async run(): Promise<void> {
    this.isRunning = true
    for (let accountId = this.next(); accountId !== undefined; accountId = this.next()) await this.serve(accountId)
    this.isRunning = false
  }

  private next(): string | undefined {
    for (const [accountId, queue] of this.queues) if (queue.length > 0) return accountId
    return undefined
  }

  private async serve(accountId: string): Promise<void> {
    const batch = this.queues.get(accountId)?.splice(0, this.batchMax) ?? []
    this.tried = batch
    const busy = await this.deps.attempt(batch)
    this.tried = []
    const isTooSlow = busy?.accountIds.size === 0
    this.batchMax = isTooSlow ? Math.max(1, Math.floor(batch.length / 2)) : BATCH_OPERATIONS_MAX
    const others = this.queues.get(accountId) ?? []
    // If it is still locked, at the end of the line: another account may be free.
    this.queues.delete(accountId)
    if (!busy && others.length === 0) return
    this.queues.set(accountId, [...(busy ? this.thePatient(batch, busy) : []), ...others])
    if (!busy) return
    this.dismissOld(busy)
    await Bun.sleep(PAUSE_MS)
  }

  /** Of those who have tried. */
  private thePatient(batch: readonly Waiting[], cause: StoreBusy): readonly Waiting[] {
    for (const waiting of batch) if (!waiting.isPatient) this.deps.refuse(waiting, cause)
    return batch.filter(({ isPatient }) => isPatient)
  }

  private dismissOld(cause: StoreBusy): void {
    const now = performance.now()
    const isOld = ({ isPatient, lateSince = now }: Waiting) =>
      now - lateSince > (isPatient ? this.deps.patienceMs : IMPATIENT_MS_MAX)
    for (const [accountId, queue] of this.queues) {
      for (const waiting of queue.filter(isOld)) this.deps.refuse(waiting, cause)
      const remaining = queue.filter(waiting => !isOld(waiting))
      this.queues.set(accountId, remaining)
    }
  }
}
