import type { Lease } from '../../core/ledger.ts'
import type { StoredAnswer } from '../../core/repeats.ts'
import type { EmbeddedDatabase } from './database.ts'
import { isGone, type Pending } from './pending.ts'

/** Brings what was decided into its tables, within a transaction. */
export class LedgerWriter {
  private readonly updateAccount
  private readonly updateKey
  private readonly insertHold
  private readonly replaceHold
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
    this.replaceHold = db.prepare('REPLACE INTO holds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
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

  write({ taken, changed, entries, usage, hours, accounts, keys }: Pending): void {
    for (const row of taken.values()) this.insertHold.run(...row)
    for (const row of changed.values()) (isGone(row) ? this.deleteHold : this.replaceHold).run(...row)
    for (const row of entries) this.insertEntry.run(...row)
    for (const row of usage) this.insertUsage.run(...row)
    for (const row of hours) this.addToHour.run(...row)
    for (const row of accounts.values()) this.updateAccount.run(...row)
    for (const row of keys.values()) this.updateKey.run(...row)
  }

  renew({ owner, expiresAt }: Lease): void {
    this.renewHolds.run(expiresAt, owner)
  }

  keepAnswer(answer: StoredAnswer): void {
    const { keyId, nameHash, fingerprint, requestId, headers, isStream, sealed, expiresAt } = answer
    // biome-ignore format: the columns in their order
    this.replaceAnswer.run(
      keyId, nameHash, fingerprint, requestId, JSON.stringify(headers), isStream ? 1 : 0, sealed ?? null, expiresAt,
    )
  }
}
