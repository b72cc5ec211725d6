import type { Account, Key } from '../core/directory.ts'
import { nanos } from '../core/money.ts'
import type { FullKeys, KeySteps, LowAccounts, Standing } from '../core/standing.ts'
import type { Database, Value } from './database.ts'
import { type AccountRow, type KeyRow, toAccount, toKey } from './rows.ts'

/** How accounts and keys stand. */
export class SqlStanding implements Standing {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async totals(): Promise<Pick<Account, 'balance' | 'held' | 'spent'>> {
    const row = await this.db.get<Record<'balance' | 'held' | 'spent', bigint | null>>(
      `SELECT CAST(sum(balance) AS BIGINT) AS balance, CAST(sum(held) AS BIGINT) AS held,
              CAST(sum(spent) AS BIGINT) AS spent
       FROM accounts`,
    )
    return { balance: nanos(row?.balance ?? 0n), held: nanos(row?.held ?? 0n), spent: nanos(row?.spent ?? 0n) }
  }

  async lowAccounts({ balance, named, limit }: LowAccounts): Promise<readonly Account[]> {
    const rows = await this.db.all<AccountRow>(
      `SELECT * FROM accounts
       WHERE (balance <= ? AND entries > 0) OR ${this.db.dialect.among('id')} ORDER BY balance LIMIT ?`,
      ...[balance, JSON.stringify(named), limit],
    )
    return rows.map(toAccount)
  }

  async fullKeys({ accountId, percent, now, limit }: FullKeys): Promise<readonly Key[]> {
    const own = ofAccount(accountId)
    // Ratios are numbers with a fraction: a hundred times an amount may be more than an integer holds.
    const rows = await this.db.all<KeyRow>(
      `SELECT k.*, a.name AS account_name FROM keys k JOIN accounts a ON a.id = k.account_id
       WHERE k.revoked_at IS NULL AND k.enabled = 1 AND k.kind = 'api' AND (k.expires_at IS NULL OR k.expires_at > ?)
         AND k.spent * 100.0 >= k.cap * CAST(? AS DOUBLE PRECISION) AND ${own.sql}
       ORDER BY k.spent >= k.cap DESC, k.spent * 1.0 / NULLIF(k.cap, 0) DESC NULLS LAST,
                k.last_used_at DESC NULLS LAST LIMIT ?`,
      ...[now, percent, ...own.values, limit],
    )
    return rows.map(toKey)
  }

  async keySteps(accountId: string | undefined): Promise<KeySteps> {
    const own = ofAccount(accountId)
    // What is as old as its account was made together with it.
    const made = `SELECT 1 FROM keys k JOIN accounts a ON a.id = k.account_id
                  WHERE k.kind = 'api' AND k.created_at > a.created_at AND ${own.sql}`
    const capped = `SELECT 1 FROM keys k WHERE k.kind = 'api' AND k.cap IS NOT NULL AND ${own.sql}`
    const row = await this.db.get<Record<'made' | 'capped', bigint | number>>(
      `SELECT CASE WHEN EXISTS (${made}) THEN 1 ELSE 0 END AS made,
              CASE WHEN EXISTS (${capped}) THEN 1 ELSE 0 END AS capped`,
      ...own.values,
      ...own.values,
    )
    return { hasOwn: Number(row?.made) === 1, hasCap: Number(row?.capped) === 1 }
  }
}

/** Keys of one account, or all of them. */
const ofAccount = (accountId: string | undefined): { readonly sql: string; readonly values: readonly Value[] } =>
  accountId === undefined ? { sql: 'TRUE', values: [] } : { sql: 'k.account_id = ?', values: [accountId] }
