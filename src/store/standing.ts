import type { Account, Key } from '../core/directory.ts'
import { nanos } from '../core/money.ts'
import type { FullKeys, KeySteps, LowAccounts, Standing } from '../core/standing.ts'
import type { EmbeddedDatabase } from './database.ts'
import { type AccountRow, type KeyRow, toAccount, toKey } from './rows.ts'

/** How accounts and keys stand, on the embedded database. */
export class SqliteStanding implements Standing {
  private readonly db: EmbeddedDatabase

  constructor(db: EmbeddedDatabase) {
    this.db = db
  }

  async totals(): Promise<Pick<Account, 'balance' | 'held' | 'spent'>> {
    const row = this.db.get<Record<'balance' | 'held' | 'spent', bigint | null>>(
      'SELECT sum(balance) AS balance, sum(held) AS held, sum(spent) AS spent FROM accounts',
    )
    return { balance: nanos(row?.balance ?? 0n), held: nanos(row?.held ?? 0n), spent: nanos(row?.spent ?? 0n) }
  }

  async lowAccounts({ balance, named, limit }: LowAccounts): Promise<readonly Account[]> {
    const rows = this.db.all<AccountRow>(
      `SELECT * FROM accounts
       WHERE (balance <= ? AND entries > 0) OR id IN (SELECT value FROM json_each(?)) ORDER BY balance LIMIT ?`,
      ...[balance, JSON.stringify(named), limit],
    )
    return rows.map(toAccount)
  }

  async fullKeys({ accountId, percent, now, limit }: FullKeys): Promise<readonly Key[]> {
    const rows = this.db.all<KeyRow>(
      `SELECT k.*, a.name AS account_name FROM keys k JOIN accounts a ON a.id = k.account_id
       WHERE k.revoked_at IS NULL AND k.enabled = 1 AND k.kind = 'api' AND (k.expires_at IS NULL OR k.expires_at > ?)
         AND k.spent * 100.0 >= k.cap * ? AND (? IS NULL OR k.account_id = ?)
       ORDER BY k.spent >= k.cap DESC, k.spent * 1.0 / k.cap DESC, k.last_used_at DESC LIMIT ?`,
      ...[now, percent, accountId ?? null, accountId ?? null, limit],
    )
    return rows.map(toKey)
  }

  async keySteps(accountId: string | undefined): Promise<KeySteps> {
    // What is as old as its account was made together with it.
    const row = this.db.get<{ own: bigint; capped: bigint }>(
      `SELECT EXISTS (SELECT 1 FROM keys k JOIN accounts a ON a.id = k.account_id
                      WHERE k.kind = 'api' AND k.created_at > a.created_at AND (?1 IS NULL OR k.account_id = ?1)) AS own,
              EXISTS (SELECT 1 FROM keys
                      WHERE kind = 'api' AND cap IS NOT NULL AND (?1 IS NULL OR account_id = ?1)) AS capped`,
      accountId ?? null,
    )
    return { hasOwn: row?.own === 1n, hasCap: row?.capped === 1n }
  }
}
