import type { Book } from '../core/book.ts'
import type { Entry, Hold, NewRecord } from '../core/ledger.ts'
import { NO_PRICE } from '../core/price.ts'
import { SUMMARY_MS } from '../core/records.ts'
import type { StoredAnswer } from '../core/repeats.ts'
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
  private readonly replaceAnswer
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
      'INSERT INTO usage VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    )
    // An answer under the same name whose time is over may still be there.
    this.replaceAnswer = db.prepare('REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
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
    for (const record of book.records) {
      this.usage(record)
      if (record.closing.answer) this.answer(record.closing.answer)
    }
    for (const hour of hoursOf(book.records)) this.hour(hour)
    for (const { id, balance, held, spent, entries, head } of book.accounts.values()) {
      this.updateAccount.run(balance, held, spent, entries, head, id)
    }
    for (const { id, spent, held } of book.keys.values()) this.updateKey.run(spent, held, id)
  }

  // Each value has its own place in these calls: on the path of every request, collecting them first costs a microsecond.

  private hold({ requestId, accountId, keyId, amount, owner, expiresAt, at, call }: Hold): void {
    const { model, channel, protocol, upstreamProtocol, stream, priceId } = call
    // biome-ignore format: the columns in their order
    this.insertHold.run(
      requestId, accountId, keyId, amount, owner, expiresAt, at,
      model, channel, protocol, upstreamProtocol, stream ? 1 : 0, priceId,
    )
  }

  private entry({ accountId, seq, kind, amount, balance, source, keyId, note, at, inputs, hash }: Entry): void {
    const usage = inputs?.usage
    // biome-ignore format: the columns in their order
    this.insertEntry.run(
      accountId, seq, kind, amount, balance, source, keyId ?? null, note ?? null, at,
      usage?.input ?? null, usage?.cacheRead ?? null, usage?.cacheWrite ?? null, usage?.output ?? null,
      inputs?.price.id ?? null, hash,
    )
  }

  private usage({ closing, cost, held, entrySeq }: NewRecord): void {
    const { requestId, accountId, keyId, call, status, ending, usage, source } = closing
    const { model, channel, protocol, upstreamProtocol, stream, priceId } = call
    // biome-ignore format: the columns in their order
    this.insertUsage.run(
      requestId, accountId, keyId, model, channel, protocol, upstreamProtocol, stream ? 1 : 0, status, ending ?? null,
      usage.input, usage.cacheRead, usage.cacheWrite, usage.output, usage.reasoning, source,
      priceId === NO_PRICE ? null : priceId, cost, held, closing.startedAt, closing.firstByteMs ?? null,
      closing.durationMs, entrySeq ?? null, closing.error ?? null,
      closing.attempts ? JSON.stringify(closing.attempts) : null,
    )
  }

  private answer(answer: StoredAnswer): void {
    const { keyId, nameHash, fingerprint, requestId, headers, isStream, sealed, expiresAt } = answer
    // biome-ignore format: the columns in their order
    this.replaceAnswer.run(
      keyId, nameHash, fingerprint, requestId, JSON.stringify(headers), isStream ? 1 : 0, sealed ?? null, expiresAt,
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

function hoursOf(records: readonly NewRecord[]): Iterable<Hour> {
  const hours: Hour[] = []
  const byKey = new Map<string, Hour[]>()
  for (const { closing, cost } of records) {
    const { accountId, keyId, call, status, usage, startedAt } = closing
    const { model, channel, protocol } = call
    const at = Math.floor(startedAt / SUMMARY_MS)
    const ofKey = byKey.get(keyId) ?? []
    let hour = ofKey.find(
      known =>
        known.at === at &&
        known.model === model &&
        known.channel === channel &&
        known.protocol === protocol &&
        known.status === status,
    )
    if (!hour) {
      const nothing = { requests: 0, input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0, cost: 0n }
      hour = { at, accountId, keyId, model, channel, protocol, status, ...nothing }
      hours.push(hour)
      byKey.set(keyId, [...ofKey, hour])
    }
    hour.requests++
    hour.input += usage.input
    hour.cacheRead += usage.cacheRead
    hour.cacheWrite += usage.cacheWrite
    hour.output += usage.output
    hour.reasoning += usage.reasoning
    hour.cost += cost
  }
  return hours
}
