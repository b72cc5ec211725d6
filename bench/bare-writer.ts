import { Database } from 'bun:sqlite'
import { newHex, newRequestId } from '../src/core/ids.ts'
import type { DatabaseOptions } from '../src/store/sqlite/database.ts'
import { openSqlite } from '../src/store/sqlite/open.ts'
import { type Measured, startMeasuring } from './measured.ts'

export interface BareLoad {
  readonly batch: number
  readonly pairs: number
}

/**
 * The rows of a hold and its settlement, into the same tables with the same indexes, by prepared statements in
 * transactions of a given size: about as fast as this database can be made to write them, all of them at once.
 */
export function bareWriter(options: DatabaseOptions, { batch, pairs }: BareLoad): Measured {
  openSqlite(options).close()
  const db = new Database(options.path, { strict: true, safeIntegers: true })
  db.run('PRAGMA locking_mode = EXCLUSIVE')
  db.run('PRAGMA wal_autocheckpoint = 1000')
  db.run(`PRAGMA synchronous = ${options.durability === 'power' ? 'FULL' : 'NORMAL'}`)
  const marks = (count: number) => Array.from({ length: count }, () => '?').join(', ')
  const hold = db.prepare(`INSERT INTO holds VALUES (${marks(13)})`)
  const release = db.prepare('DELETE FROM holds WHERE request_id = ?')
  const entry = db.prepare(`INSERT INTO entries VALUES (${marks(15)})`)
  const usage = db.prepare(`INSERT INTO usage VALUES (NULL, ${marks(25)})`)
  const [account, key, hash] = [`acc_${newHex(10)}`, `key_${newHex(10)}`, newHex(32)]
  let seq = 0

  const holdAll = db.transaction((ids: readonly string[], now: number) => {
    for (const id of ids) {
      hold.run(id, account, key, 9_000_000n, 'bench', now, now, 'acme/swift-2', 'acme-main', 'chat', 'messages', 1, 1)
    }
  })
  const settleAll = db.transaction((ids: readonly string[], now: number) => {
    for (const id of ids) {
      release.run(id)
      entry.run(account, ++seq, 'charge', -855_000n, 1_000_000n, id, key, null, now, 1_000, 200, 0, 300, 1, hash)
      usage.run(
        ...[
          id,
          account,
          key,
          'acme/swift-2',
          'acme-main',
          'chat',
          'messages',
          1,
          'ok',
          'stop',
          1_000,
          200,
          0,
          300,
          100,
        ],
        ...['upstream', 1, 855_000n, 9_000_000n, now, 10, 20, seq, null, null],
      )
    }
  })

  const measured = startMeasuring()
  for (let done = 0; done < pairs; done += batch) {
    const now = Date.now()
    const ids = Array.from({ length: Math.min(batch, pairs - done) }, () => newRequestId(now))
    holdAll.immediate(ids, now)
    settleAll.immediate(ids, now)
  }
  const result = measured(pairs)
  for (const statement of [hold, release, entry, usage]) statement.finalize()
  db.close()
  return result
}
