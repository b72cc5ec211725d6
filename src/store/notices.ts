import { nanos } from '../core/money.ts'
import type { DueNotice, DueRequest, FailedDelivery, NewNotice, Notice, Notices } from '../core/notices.ts'
import type { Database } from './database.ts'
import { toNumber } from './rows.ts'

interface NoticeRow {
  readonly account_id: string
  readonly threshold: bigint
  readonly sealed: string
  readonly told_at: bigint | null
  readonly failures: bigint
  readonly error: string | null
  readonly tries: bigint
}

interface DueRow extends NoticeRow {
  readonly account_name: string
  readonly balance: bigint
}

/** Low-balance notices. */
export class SqlNotices implements Notices {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async notice(accountId: string): Promise<Notice | undefined> {
    const row = await this.db.get<NoticeRow>('SELECT * FROM notices WHERE account_id = ?', accountId)
    return row && toNotice(row)
  }

  async set({ accountId, threshold, sealed }: NewNotice): Promise<Notice> {
    const row = await this.db.get<NoticeRow>(
      `INSERT INTO notices (account_id, threshold, sealed) VALUES (?, ?, ?)
       ON CONFLICT (account_id) DO UPDATE SET
         threshold = excluded.threshold, sealed = excluded.sealed,
         told_at = NULL, failures = 0, error = NULL, tries = 0, due_at = NULL
       RETURNING *`,
      accountId,
      threshold,
      sealed,
    )
    return toNotice(row as NoticeRow)
  }

  async remove(accountId: string): Promise<boolean> {
    return (await this.db.run('DELETE FROM notices WHERE account_id = ?', accountId)) > 0
  }

  async due({ now, claimedUntil, triesMax, limit }: DueRequest): Promise<readonly DueNotice[]> {
    await this.db.run(
      `UPDATE notices SET told_at = NULL, tries = 0, due_at = NULL
       WHERE (told_at IS NOT NULL OR tries > 0)
         AND threshold <= (SELECT balance FROM accounts WHERE id = notices.account_id)`,
    )
    // The outer condition is looked at again where somebody else has claimed the row in the meantime.
    const rows = await this.db.all<DueRow>(
      `UPDATE notices SET due_at = ?
       WHERE told_at IS NULL AND (due_at IS NULL OR due_at <= ?) AND account_id IN (
         SELECT n.account_id FROM notices n JOIN accounts a ON a.id = n.account_id
         WHERE a.balance < n.threshold AND n.told_at IS NULL AND n.tries < ? AND (n.due_at IS NULL OR n.due_at <= ?)
         ORDER BY n.due_at NULLS FIRST LIMIT ?)
       RETURNING *, (SELECT name FROM accounts a WHERE a.id = notices.account_id) AS account_name,
                    (SELECT balance FROM accounts a WHERE a.id = notices.account_id) AS balance`,
      ...[claimedUntil, now, triesMax, now, limit],
    )
    return rows.map(toDue)
  }

  async told({ accountId, sealed }: Pick<Notice, 'accountId' | 'sealed'>, at: number): Promise<void> {
    await this.db.run(
      `UPDATE notices SET told_at = ?, failures = 0, error = NULL, tries = 0, due_at = NULL
       WHERE account_id = ? AND sealed = ?`,
      at,
      accountId,
      sealed,
    )
  }

  async failed(
    { accountId, sealed }: Pick<Notice, 'accountId' | 'sealed'>,
    { error, dueAt }: FailedDelivery,
  ): Promise<void> {
    await this.db.run(
      `UPDATE notices SET failures = failures + 1, error = ?, tries = tries + 1, due_at = ?
       WHERE account_id = ? AND sealed = ?`,
      error,
      dueAt,
      accountId,
      sealed,
    )
  }
}

const toNotice = (row: NoticeRow): Notice => ({
  accountId: row.account_id,
  threshold: nanos(row.threshold),
  sealed: row.sealed,
  toldAt: toNumber(row.told_at),
  failures: Number(row.failures),
  error: row.error ?? undefined,
})

const toDue = (row: DueRow): DueNotice => ({
  ...toNotice(row),
  accountName: row.account_name,
  balance: nanos(row.balance),
  tries: Number(row.tries),
})
