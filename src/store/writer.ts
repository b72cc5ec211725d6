import type { Book } from '../core/book.ts'
import type { Entry, Hold, UsageRow } from '../core/ledger.ts'
import { TOKEN_CLASSES } from '../core/price.ts'
import { SUMMARY_MS } from '../core/records.ts'
import type { EmbeddedDatabase } from './database.ts'

/** Writes down what a book has changed. */
export class LedgerWriter {
  private readonly updateAccount
  private readonly updateKey
  private readonly insertHold
  private readonly updateHold
  private readonly deleteHold
  private readonly renewHolds
  private readonly insertEntry
  private readonly insertUsage
  private readonly addToHour

  constructor(db: EmbeddedDatabase) {
    this.updateAccount = db.prepare(
      'UPDATE accounts SET balance = ?, held = ?, spent = ?, entries = ?, head = ? WHERE id = ?',
    )
    this.updateKey = db.prepare('UPDATE keys SET spent = ?, held = ? WHERE id = ?')
    this.insertHold = db.prepare('INSERT INTO holds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
    this.updateHold = db.prepare('UPDATE holds SET amount = ?, expires_at = ? WHERE request_id = ?')
    this.deleteHold = db.prepare('DELETE FROM holds WHERE request_id = ?')
    this.renewHolds = db.prepare('UPDATE holds SET expires_at = ? WHERE owner = ?')
    this.insertEntry = db.prepare('INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
    this.insertUsage = db.prepare(
      'INSERT INTO usage VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    )
    this.addToHour = db.prepare(
      `INSERT INTO usage_hours VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET
         requests = requests + excluded.requests, input = input + excluded.input,
         cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
         output = output + excluded.output, reasoning = reasoning + excluded.reasoning, cost = cost + excluded.cost`,
    )
  }

  write(book: Book): void {
    for (const { owner, expiresAt } of book.renewals) this.renewHolds.run(expiresAt, owner)
    for (const hold of book.taken.values()) this.hold(hold)
    for (const [requestId, hold] of book.changed) {
      if (hold) this.updateHold.run(hold.amount, hold.expiresAt, requestId)
      else this.deleteHold.run(requestId)
    }
    for (const entry of book.entries) this.entry(entry)
    for (const row of book.usage) this.usage(row)
    for (const hour of hoursOf(book.usage)) this.hour(hour)
    for (const { id, balance, held, spent, entries, head } of book.accounts.values()) {
      this.updateAccount.run(balance, held, spent, entries, head, id)
    }
    for (const { id, spent, held } of book.keys.values()) this.updateKey.run(spent, held, id)
  }

  private hold({ requestId, accountId, keyId, amount, owner, expiresAt, at, call }: Hold): void {
    this.insertHold.run(
      ...[requestId, accountId, keyId, amount, owner, expiresAt, at],
      ...[call.model, call.channel, call.protocol, call.upstreamProtocol, call.stream ? 1 : 0, call.priceId],
    )
  }

  private entry({ inputs, ...entry }: Entry): void {
    const { accountId, seq, kind, amount, balance, source, keyId, note, at, hash } = entry
    const tokens = TOKEN_CLASSES.map(name => inputs?.usage[name] ?? null)
    this.insertEntry.run(
      ...[accountId, seq, kind, amount, balance, source, keyId ?? null, note ?? null, at],
      ...[...tokens, inputs?.price.id ?? null, hash],
    )
  }

  private usage({ call, usage, ...row }: UsageRow): void {
    this.insertUsage.run(
      ...[row.requestId, row.accountId, row.keyId],
      ...[call.model, call.channel, call.protocol, call.upstreamProtocol, call.stream ? 1 : 0],
      ...[row.status, row.ending ?? null],
      ...[usage.input, usage.cacheRead, usage.cacheWrite, usage.output, usage.reasoning, row.source],
      ...[call.priceId, row.cost, row.held, row.startedAt, row.firstByteMs ?? null, row.durationMs],
    )
  }

  private hour({ at, accountId, keyId, model, channel, protocol, status, ...sums }: Hour): void {
    this.addToHour.run(
      ...[at, accountId, keyId, model, channel, protocol, status],
      ...[sums.requests, sums.input, sums.cacheRead, sums.cacheWrite, sums.output, sums.reasoning, sums.cost],
    )
  }
}

/** What one batch adds to one row of sums. */
interface Hour {
  readonly at: number
  readonly accountId: string
  readonly keyId: string
  readonly model: string
  readonly channel: string
  readonly protocol: string
  readonly status: string
  requests: number
  input: number
  cacheRead: number
  cacheWrite: number
  output: number
  reasoning: number
  cost: bigint
}

function hoursOf(rows: readonly UsageRow[]): Iterable<Hour> {
  const hours = new Map<string, Hour>()
  for (const { accountId, keyId, call, status, usage, cost, startedAt } of rows) {
    const { model, channel, protocol } = call
    const at = Math.floor(startedAt / SUMMARY_MS)
    const name = `${at} ${keyId} ${model} ${channel} ${protocol} ${status}`
    let hour = hours.get(name)
    if (!hour) {
      const nothing = { requests: 0, input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0, cost: 0n }
      hour = { at, accountId, keyId, model, channel, protocol, status, ...nothing }
      hours.set(name, hour)
    }
    hour.requests++
    hour.input += usage.input
    hour.cacheRead += usage.cacheRead
    hour.cacheWrite += usage.cacheWrite
    hour.output += usage.output
    hour.reasoning += usage.reasoning
    hour.cost += cost
  }
  return hours.values()
}
