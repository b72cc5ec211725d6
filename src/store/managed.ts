import type { JsonObject } from '../core/ask.ts'
import type { Managed, ManagedChannel, ManagedModel, ManagedStore, Pause } from '../core/managed.ts'
import type { EmbeddedDatabase } from './database.ts'

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

/** What the console defines, on the embedded database. */
export class SqliteManaged implements ManagedStore {
  private readonly db: EmbeddedDatabase

  constructor(db: EmbeddedDatabase) {
    this.db = db
  }

  async managed(): Promise<Managed> {
    const models = this.db.all<SettingsRow>('SELECT id AS name, settings FROM models ORDER BY created_at, id')
    const channels = this.db.all<SettingsRow>('SELECT name, settings FROM channels ORDER BY created_at, name')
    const keys = Map.groupBy(
      this.db.all<KeyRow>('SELECT channel, id, hint, sealed FROM channel_keys ORDER BY created_at, rowid'),
      ({ channel }) => channel,
    )
    const pauses = this.db.all<{ channel: string; key_id: string }>('SELECT channel, key_id FROM pauses')
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

  async putModel({ id, settings }: ManagedModel, now: number): Promise<void> {
    this.db.run(
      'INSERT INTO models VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET settings = excluded.settings',
      id,
      JSON.stringify(settings),
      now,
    )
  }

  async removeModel(id: string): Promise<void> {
    this.db.run('DELETE FROM models WHERE id = ?', id)
  }

  async putChannel({ name, settings, keys }: ManagedChannel, now: number): Promise<void> {
    const ids = JSON.stringify(keys.map(({ id }) => id))
    this.db.transaction(() => {
      this.db.run(
        'INSERT INTO channels VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET settings = excluded.settings',
        name,
        JSON.stringify(settings),
        now,
      )
      this.db.run(
        'DELETE FROM channel_keys WHERE channel = ? AND id NOT IN (SELECT value FROM json_each(?))',
        name,
        ids,
      )
      this.db.run(
        `DELETE FROM pauses WHERE channel = ? AND key_id <> '${WHOLE}' AND key_id NOT IN (SELECT value FROM json_each(?))`,
        name,
        ids,
      )
      for (const { id, hint, sealed } of keys) {
        this.db.run(
          `INSERT INTO channel_keys (channel, id, hint, sealed, created_at) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT DO UPDATE SET hint = excluded.hint, sealed = excluded.sealed`,
          ...[name, id, hint, sealed, now],
        )
      }
    })
  }

  async removeChannel(name: string): Promise<void> {
    this.db.transaction(() => {
      this.db.run('DELETE FROM channel_keys WHERE channel = ?', name)
      this.db.run('DELETE FROM pauses WHERE channel = ?', name)
      this.db.run('DELETE FROM channels WHERE name = ?', name)
    })
  }

  async setPaused({ channel, keyId = WHOLE }: Pause, isPaused: boolean, now: number): Promise<void> {
    if (isPaused) this.db.run('INSERT INTO pauses VALUES (?, ?, ?) ON CONFLICT DO NOTHING', channel, keyId, now)
    else this.db.run('DELETE FROM pauses WHERE channel = ? AND key_id = ?', channel, keyId)
  }
}
