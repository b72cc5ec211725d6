import type { ModelPrice, PriceList } from '../core/ledger.ts'
import { isSamePrice, type PriceVersion } from '../core/price.ts'
import type { EmbeddedDatabase } from './database.ts'
import { type PriceRow, toPrice } from './rows.ts'

/** Prices on the embedded database: versions are only ever added. */
export class SqlitePrices implements PriceList {
  private readonly db: EmbeddedDatabase

  constructor(db: EmbeddedDatabase) {
    this.db = db
  }

  async publish(prices: readonly ModelPrice[], now: number): Promise<ReadonlyMap<string, PriceVersion>> {
    return this.db.transaction(() => new Map(prices.map(price => [price.model, this.inForce(price, now)])))
  }

  async history(model: string, limit: number): Promise<readonly PriceVersion[]> {
    const rows = this.db.all<PriceRow>(
      'SELECT * FROM prices WHERE model = ? ORDER BY version DESC LIMIT ?',
      model,
      limit,
    )
    return rows.map(toPrice)
  }

  private inForce({ model, price }: ModelPrice, now: number): PriceVersion {
    const latest = this.db.get<PriceRow>('SELECT * FROM prices WHERE model = ? ORDER BY version DESC LIMIT 1', model)
    if (latest && isSamePrice(toPrice(latest), price)) return toPrice(latest)
    const added = this.db.get<PriceRow>(
      `INSERT INTO prices (model, version, input, output, cache_read, cache_write, since)
       VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING *`,
      model,
      (latest?.version ?? 0n) + 1n,
      price.input,
      price.output,
      price.cacheRead,
      price.cacheWrite,
      now,
    )
    return toPrice(added as PriceRow)
  }
}
