import type { ModelPrice, PriceList } from '../core/ledger.ts'
import { isSamePrice, type PriceVersion } from '../core/price.ts'
import { ask, type Database, type Dialect, type Work } from './database.ts'
import { type PriceRow, toPrice } from './rows.ts'

/** Prices: versions are only ever added. */
export class SqlPrices implements PriceList {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  publish(prices: readonly ModelPrice[], now: number): Promise<ReadonlyMap<string, PriceVersion>> {
    const { dialect } = this.db
    return this.db.transaction(() => publish(prices, { now, dialect }))
  }

  async history(model: string, limit: number): Promise<readonly PriceVersion[]> {
    const rows = await this.db.all<PriceRow>(
      'SELECT * FROM prices WHERE model = ? ORDER BY version DESC LIMIT ?',
      model,
      limit,
    )
    return rows.map(toPrice)
  }
}

function* publish(
  prices: readonly ModelPrice[],
  { now, dialect }: { readonly now: number; readonly dialect: Dialect },
): Work<ReadonlyMap<string, PriceVersion>> {
  const latest = yield* ask.all<PriceRow>(
    `SELECT p.* FROM prices p
     WHERE ${dialect.among('p.model')} AND p.version = (SELECT max(version) FROM prices WHERE model = p.model)`,
    JSON.stringify(prices.map(({ model }) => model)),
  )
  const inForce = new Map(latest.map(row => [row.model, toPrice(row)]))
  for (const price of prices) {
    const before = inForce.get(price.model)
    if (!before || !isSamePrice(before, price.price)) inForce.set(price.model, yield* add(price, before, now))
  }
  return inForce
}

function* add({ model, price }: ModelPrice, before: PriceVersion | undefined, now: number): Work<PriceVersion> {
  const added = yield* ask.get<PriceRow>(
    `INSERT INTO prices (model, version, input, output, cache_read, cache_write, since)
     VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING *`,
    ...[model, (before?.version ?? 0) + 1, price.input, price.output, price.cacheRead, price.cacheWrite, now],
  )
  return toPrice(added as PriceRow)
}
