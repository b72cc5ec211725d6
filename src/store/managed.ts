import type { JsonObject } from '../core/ask.ts'
import type { Managed, ManagedChannel, ManagedModel, ManagedStore, Pause } from '../core/managed.ts'
import { ask, type Database, type Dialect, type Work } from './database.ts'

interface SettingsRow {
  readonly name: string
  readonly settings: string
}

interface KeyRow {
  readonly channel: string
  readonly id: string
  readonly hint: string
  readonly sealed: string
}

/** The key id of a pause that holds for the whole channel. */
const WHOLE = ''

/** What the console defines. */
export class SqlManaged implements ManagedStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  managed(): Promise<Managed> {
    const { dialect } = this.db
    return this.db.snapshot(() => readAll(dialect))
  }

  async putModel({ id, settings }: ManagedModel, now: number): Promise<void> {
    await this.db.run(
      `INSERT INTO models (id, settings, created_at) VALUES (?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET settings = excluded.settings`,
      ...[id, JSON.stringify(settings), now],
    )
  }

  async removeModel(id: string): Promise<void> {
    await this.db.run('DELETE FROM models WHERE id = ?', id)
  }

  async putChannel(channel: ManagedChannel, now: number): Promise<void> {
    const { dialect } = this.db
    await this.db.transaction(() => putChannel(channel, { now, dialect }))
  }

  async removeChannel(name: string): Promise<void> {
    await this.db.transaction(() => removeChannel(name))
  }

  async setPaused({ channel, keyId = WHOLE }: Pause, isPaused: boolean, now: number): Promise<void> {
    const sql = isPaused
      ? 'INSERT INTO pauses (channel, key_id, at) VALUES (?, ?, ?) ON CONFLICT (channel, key_id) DO NOTHING'
      : 'DELETE FROM pauses WHERE channel = ? AND key_id = ?'
    await this.db.run(sql, channel, keyId, ...(isPaused ? [now] : []))
  }
}

function* readAll({ inserted }: Dialect): Work<Managed> {
  const models = yield* ask.all<SettingsRow>('SELECT id AS name, settings FROM models ORDER BY created_at, id')
  const channels = yield* ask.all<SettingsRow>('SELECT name, settings FROM channels ORDER BY created_at, name')
  const keys = Map.groupBy(
    yield* ask.all<KeyRow>(`SELECT channel, id, hint, sealed FROM channel_keys ORDER BY created_at, ${inserted}`),
    ({ channel }) => channel,
  )
  const pauses = yield* ask.all<{ channel: string; key_id: string }>(
    'SELECT channel, key_id FROM pauses ORDER BY channel, key_id',
  )
  return {
    models: models.map(({ name, settings }) => ({ id: name, settings: JSON.parse(settings) as JsonObject })),
    channels: channels.map(({ name, settings }) => ({
      name,
      settings: JSON.parse(settings) as JsonObject,
      keys: (keys.get(name) ?? []).map(({ id, hint, sealed }) => ({ id, hint, sealed })),
    })),
    pauses: pauses.map(({ channel, key_id }) => ({ channel, keyId: key_id === WHOLE ? undefined : key_id })),
  }
}

function* putChannel(
  { name, settings, keys }: ManagedChannel,
  { now, dialect }: { readonly now: number; readonly dialect: Dialect },
): Work<void> {
  const ids = JSON.stringify(keys.map(({ id }) => id))
  yield* ask.run(
    `INSERT INTO channels (name, settings, created_at) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET settings = excluded.settings`,
    ...[name, JSON.stringify(settings), now],
  )
  yield* ask.run(`DELETE FROM channel_keys WHERE channel = ? AND NOT (${dialect.among('id')})`, name, ids)
  yield* ask.run(
    `DELETE FROM pauses WHERE channel = ? AND key_id <> '${WHOLE}' AND NOT (${dialect.among('key_id')})`,
    name,
    ids,
  )
  for (const { id, hint, sealed } of keys) {
    yield* ask.run(
      `INSERT INTO channel_keys (channel, id, hint, sealed, created_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (channel, id) DO UPDATE SET hint = excluded.hint, sealed = excluded.sealed`,
      ...[name, id, hint, sealed, now],
    )
  }
}

function* removeChannel(name: string): Work<void> {
  yield* ask.run('DELETE FROM channel_keys WHERE channel = ?', name)
  yield* ask.run('DELETE FROM pauses WHERE channel = ?', name)
  yield* ask.run('DELETE FROM channels WHERE name = ?', name)
}
