import type { Claim, ClaimedCode, Code, Codes, NewCode } from '../core/codes.ts'
import type { Page, PageRequest } from '../core/directory.ts'
import { nanos } from '../core/money.ts'
import type { Database } from './database.ts'
import { page } from './page.ts'
import { toNumber } from './rows.ts'

interface CodeRow {
  readonly id: string
  readonly hint: string
  readonly amount: bigint
  readonly note: string | null
  readonly created_at: bigint
  readonly expires_at: bigint | null
  readonly redeemed_at: bigint | null
  readonly account_id: string | null
  readonly account_name: string | null
}

interface ClaimedRow {
  readonly id: string
  readonly hint: string
  readonly amount: bigint
  readonly account_id: string
  readonly redeemed_at: bigint
  readonly entry_seq: bigint | null
}

const ACCOUNT_NAME = '(SELECT a.name FROM accounts a WHERE a.id = codes.account_id) AS account_name'

/** Redemption codes. */
export class SqlCodes implements Codes {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async create(codes: readonly NewCode[]): Promise<readonly Code[]> {
    const rows = await this.db.all<CodeRow>(
      `INSERT INTO codes (id, code_hash, hint, amount, note, created_at, expires_at)
       SELECT value ->> 0, value ->> 1, value ->> 2, CAST(value ->> 3 AS BIGINT), value ->> 4,
              CAST(value ->> 5 AS BIGINT), CAST(value ->> 6 AS BIGINT)
       FROM ${this.db.dialect.list}
       RETURNING *, NULL AS account_name`,
      JSON.stringify(codes.map(columnsOf)),
    )
    const made = new Map(rows.map(row => [row.id, toCode(row)]))
    return codes.flatMap(({ id }) => made.get(id) ?? [])
  }

  async codes({ cursor, limit }: PageRequest): Promise<Page<Code>> {
    const [time = '', id = ''] = cursor?.split('-') ?? []
    const rows = await this.db.all<CodeRow>(
      `SELECT *, ${ACCOUNT_NAME} FROM codes WHERE (created_at, id) < (?, ?) ORDER BY created_at DESC, id DESC LIMIT ?`,
      cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(time),
      id,
      limit + 1,
    )
    return page(rows, limit, { map: toCode, cursorOf: row => `${row.created_at}-${row.id}` })
  }

  async claim({ codeHash, accountId, at }: Claim): Promise<ClaimedCode | 'unknown' | 'redeemed' | 'expired'> {
    const claimed = await this.db.get<ClaimedRow>(
      `UPDATE codes SET redeemed_at = ?, account_id = ?
       WHERE code_hash = ? AND redeemed_at IS NULL AND (expires_at IS NULL OR expires_at > ?) RETURNING *`,
      ...[at, accountId, codeHash, at],
    )
    if (claimed) return toClaimed(claimed)
    const found = await this.db.get<CodeRow | ClaimedRow>('SELECT * FROM codes WHERE code_hash = ?', codeHash)
    if (!found) return 'unknown'
    if (!isClaimed(found)) return 'expired'
    // Claimed by the same account and not paid yet: whoever was interrupted may ask again.
    return found.account_id === accountId && found.entry_seq === null ? toClaimed(found) : 'redeemed'
  }

  async paid(id: string, entrySeq: number): Promise<void> {
    await this.db.run('UPDATE codes SET entry_seq = ? WHERE id = ?', entrySeq, id)
  }

  async unpaid(limit: number): Promise<readonly ClaimedCode[]> {
    const rows = await this.db.all<ClaimedRow>(
      'SELECT * FROM codes WHERE redeemed_at IS NOT NULL AND entry_seq IS NULL ORDER BY redeemed_at LIMIT ?',
      limit,
    )
    return rows.map(toClaimed)
  }

  async revoke(id: string): Promise<'revoked' | 'unknown' | 'redeemed'> {
    const revoked = await this.db.run('DELETE FROM codes WHERE id = ? AND redeemed_at IS NULL', id)
    if (revoked > 0) return 'revoked'
    return (await this.db.get('SELECT id FROM codes WHERE id = ?', id)) ? 'redeemed' : 'unknown'
  }
}

/** An amount is more than a number of JSON can be. */
const columnsOf = ({ id, codeHash, hint, amount, note, createdAt, expiresAt }: NewCode) => [
  ...[id, codeHash, hint, String(amount), note ?? null, createdAt, expiresAt ?? null],
]

const isClaimed = (row: CodeRow | ClaimedRow): row is ClaimedRow => row.redeemed_at !== null

const toCode = (row: CodeRow): Code => ({
  id: row.id,
  hint: row.hint,
  amount: nanos(row.amount),
  note: row.note ?? undefined,
  createdAt: Number(row.created_at),
  expiresAt: toNumber(row.expires_at),
  redeemedAt: toNumber(row.redeemed_at),
  accountId: row.account_id ?? undefined,
  accountName: row.account_name ?? undefined,
})

const toClaimed = (row: ClaimedRow): ClaimedCode => ({
  id: row.id,
  hint: row.hint,
  amount: nanos(row.amount),
  accountId: row.account_id,
  redeemedAt: Number(row.redeemed_at),
})
