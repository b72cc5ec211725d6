import { CHAIN_START, chainHash } from '../../core/chain.ts'
import { type EntryRow, toEntry } from '../rows.ts'
import type { EmbeddedDatabase } from './database.ts'

/** SQL, or SQL and what it cannot say. */
export type Migration = string | ((db: EmbeddedDatabase) => void)

/**
 * What hours add up to, by the day: whoever looks at a month or a year reads a fraction of the rows. Whatever is written to
 * an hour is written to its day in the same moment, by the database itself. Nothing is ever taken out of an hour.
 */
const DAYS = `
  CREATE TABLE usage_days (
    day         INTEGER NOT NULL,
    account_id  TEXT NOT NULL,
    key_id      TEXT NOT NULL,
    model       TEXT NOT NULL,
    channel     TEXT NOT NULL,
    protocol    TEXT NOT NULL,
    status      TEXT NOT NULL,
    requests    INTEGER NOT NULL,
    input       INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    reasoning   INTEGER NOT NULL,
    cost        INTEGER NOT NULL,
    PRIMARY KEY (day, account_id, key_id, model, channel, protocol, status)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO usage_days
    SELECT hour / 24, account_id, key_id, model, channel, protocol, status, sum(requests), sum(input), sum(cache_read),
           sum(cache_write), sum(output), sum(reasoning), sum(cost)
    FROM usage_hours GROUP BY 1, 2, 3, 4, 5, 6, 7;

  CREATE TRIGGER hour_begun AFTER INSERT ON usage_hours BEGIN
    INSERT INTO usage_days VALUES (
      NEW.hour / 24, NEW.account_id, NEW.key_id, NEW.model, NEW.channel, NEW.protocol, NEW.status, NEW.requests, NEW.input,
      NEW.cache_read, NEW.cache_write, NEW.output, NEW.reasoning, NEW.cost)
    ON CONFLICT DO UPDATE SET
      requests = requests + excluded.requests, input = input + excluded.input,
      cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
      output = output + excluded.output, reasoning = reasoning + excluded.reasoning, cost = cost + excluded.cost;
  END;
  CREATE TRIGGER hour_changed AFTER UPDATE ON usage_hours BEGIN
    UPDATE usage_days SET
      requests = requests + NEW.requests - OLD.requests, input = input + NEW.input - OLD.input,
      cache_read = cache_read + NEW.cache_read - OLD.cache_read, cache_write = cache_write + NEW.cache_write - OLD.cache_write,
      output = output + NEW.output - OLD.output, reasoning = reasoning + NEW.reasoning - OLD.reasoning,
      cost = cost + NEW.cost - OLD.cost
    WHERE day = NEW.hour / 24 AND account_id = NEW.account_id AND key_id = NEW.key_id AND model = NEW.model
      AND channel = NEW.channel AND protocol = NEW.protocol AND status = NEW.status;
  END;
`

/** What was tried before an upstream answered, how often a key may call, and answers for those who ask twice. */
const FAILURES_AND_REPEATS = `
  ALTER TABLE usage ADD COLUMN attempts TEXT;

  ALTER TABLE keys ADD COLUMN max_concurrent INTEGER;
  ALTER TABLE keys ADD COLUMN max_per_minute INTEGER;

  CREATE TABLE answers (
    key_id      TEXT NOT NULL,
    name_hash   TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    request_id  TEXT NOT NULL,
    headers     TEXT NOT NULL,
    is_stream   INTEGER NOT NULL,
    sealed      BLOB,
    expires_at  INTEGER NOT NULL,
    UNIQUE (key_id, name_hash)
  ) STRICT;
  CREATE INDEX answers_by_expiry ON answers (expires_at);
`

/** What was decided and is not in its tables yet (`journal.ts`). */
const JOURNAL = `
  CREATE TABLE journal (
    id    INTEGER PRIMARY KEY,
    batch TEXT NOT NULL
  ) STRICT;
`

/**
 * People who sign in, what they may change of the catalog, and what they are told. Secrets are hashed where they are only
 * compared (tokens, codes) and sealed where they are needed again (vendor keys, captured texts).
 */
const PEOPLE_AND_CATALOG = `
  CREATE TABLE users (
    id           TEXT PRIMARY KEY,
    name         TEXT NOT NULL UNIQUE COLLATE NOCASE,
    role         TEXT NOT NULL CHECK (role = 'admin' OR role = 'member'),
    account_id   TEXT NOT NULL REFERENCES accounts (id),
    password     TEXT NOT NULL,
    enabled      INTEGER NOT NULL DEFAULT 1,
    created_at   INTEGER NOT NULL,
    last_seen_at INTEGER
  ) STRICT;

  CREATE TABLE sessions (
    id           TEXT PRIMARY KEY,
    token_hash   TEXT NOT NULL UNIQUE,
    user_id      TEXT NOT NULL REFERENCES users (id),
    created_at   INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    address      TEXT NOT NULL,
    client       TEXT NOT NULL
  ) STRICT;
  CREATE INDEX sessions_by_user ON sessions (user_id, last_seen_at);

  CREATE TABLE invites (
    id         TEXT PRIMARY KEY,
    token_hash TEXT NOT NULL UNIQUE,
    kind       TEXT NOT NULL CHECK (kind = 'first' OR kind = 'invite' OR kind = 'reset'),
    role       TEXT NOT NULL,
    account_id TEXT REFERENCES accounts (id),
    user_id    TEXT REFERENCES users (id),
    name       TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER
  ) STRICT;

  ALTER TABLE keys ADD COLUMN kind TEXT NOT NULL DEFAULT 'api';
  ALTER TABLE keys ADD COLUMN is_admins INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE keys ADD COLUMN keep_days INTEGER;

  ALTER TABLE usage ADD COLUMN error TEXT;

  CREATE TABLE captures (
    request_id TEXT PRIMARY KEY,
    key_id     TEXT NOT NULL,
    is_cut     INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    sealed     TEXT NOT NULL
  ) STRICT;
  CREATE INDEX captures_by_expiry ON captures (expires_at);
  CREATE INDEX captures_by_key ON captures (key_id, expires_at);

  CREATE TABLE codes (
    id          TEXT PRIMARY KEY,
    code_hash   TEXT NOT NULL UNIQUE,
    hint        TEXT NOT NULL,
    amount      INTEGER NOT NULL,
    note        TEXT,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    redeemed_at INTEGER,
    account_id  TEXT REFERENCES accounts (id),
    entry_seq   INTEGER
  ) STRICT;
  CREATE INDEX codes_by_time ON codes (created_at, id);
  CREATE INDEX codes_unpaid ON codes (redeemed_at) WHERE redeemed_at IS NOT NULL AND entry_seq IS NULL;

  CREATE TABLE notices (
    account_id TEXT PRIMARY KEY REFERENCES accounts (id),
    threshold  INTEGER NOT NULL,
    sealed     TEXT NOT NULL,
    told_at    INTEGER,
    failures   INTEGER NOT NULL DEFAULT 0,
    error      TEXT,
    tries      INTEGER NOT NULL DEFAULT 0,
    due_at     INTEGER
  ) STRICT;

  CREATE TABLE models (
    id         TEXT PRIMARY KEY,
    settings   TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE channels (
    name       TEXT PRIMARY KEY,
    settings   TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE channel_keys (
    channel    TEXT NOT NULL REFERENCES channels (name),
    id         TEXT NOT NULL,
    hint       TEXT NOT NULL,
    sealed     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (channel, id)
  ) STRICT;

  CREATE TABLE pauses (
    channel TEXT NOT NULL,
    key_id  TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (channel, key_id)
  ) STRICT;
`

/**
 * Forward only; a database remembers how many it has seen (`user_version`). Never edit one that was released: add one.
 * Amounts are signed integers in nano-dollars, times are milliseconds since 1970.
 */
export const MIGRATIONS: readonly Migration[] = [
  `
  CREATE TABLE accounts (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    grp        TEXT NOT NULL,
    balance    INTEGER NOT NULL DEFAULT 0,
    held       INTEGER NOT NULL DEFAULT 0,
    spent      INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE keys (
    id           TEXT PRIMARY KEY,
    account_id   TEXT NOT NULL REFERENCES accounts (id),
    name         TEXT NOT NULL,
    secret_hash  TEXT NOT NULL UNIQUE,
    hint         TEXT NOT NULL,
    cap          INTEGER,
    spent        INTEGER NOT NULL DEFAULT 0,
    held         INTEGER NOT NULL DEFAULT 0,
    models       TEXT,
    expires_at   INTEGER,
    enabled      INTEGER NOT NULL DEFAULT 1,
    revoked_at   INTEGER,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER
  ) STRICT;
  CREATE INDEX keys_by_account ON keys (account_id, id);

  CREATE TABLE entries (
    id         INTEGER PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    kind       TEXT NOT NULL CHECK (kind IN ('topup', 'charge', 'adjustment')),
    amount     INTEGER NOT NULL,
    balance    INTEGER NOT NULL,
    source     TEXT NOT NULL,
    key_id     TEXT REFERENCES keys (id),
    note       TEXT,
    at         INTEGER NOT NULL,
    UNIQUE (account_id, kind, source)
  ) STRICT;
  CREATE INDEX entries_by_account ON entries (account_id, id);

  CREATE TABLE holds (
    request_id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    key_id     TEXT NOT NULL REFERENCES keys (id),
    amount     INTEGER NOT NULL,
    at         INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE usage (
    request_id        TEXT PRIMARY KEY,
    account_id        TEXT NOT NULL,
    key_id            TEXT NOT NULL,
    model             TEXT NOT NULL,
    channel           TEXT NOT NULL,
    protocol          TEXT NOT NULL,
    upstream_protocol TEXT NOT NULL,
    stream            INTEGER NOT NULL,
    status            TEXT NOT NULL,
    input             INTEGER NOT NULL,
    cache_read        INTEGER NOT NULL,
    cache_write       INTEGER NOT NULL,
    output            INTEGER NOT NULL,
    reasoning         INTEGER NOT NULL,
    source            TEXT NOT NULL,
    cost              INTEGER NOT NULL,
    held              INTEGER NOT NULL,
    started_at        INTEGER NOT NULL,
    first_byte_ms     INTEGER,
    duration_ms       INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX usage_by_time ON usage (started_at);
  `,
  ledgerThatCanBeVerified,
  PEOPLE_AND_CATALOG,
  FAILURES_AND_REPEATS,
  JOURNAL,
  DAYS,
]

/** For who is told what was applied, in the same order. */
export const MIGRATION_NAMES = [
  'accounts, keys, holds and usage',
  'a ledger that can be verified',
  'people and the catalog',
  'failures and repeats',
  'a journal',
  'sums by the day',
] as const

/**
 * Prices get versions, entries are numbered and chained for each account, holds have owners, usage is summed by the
 * hour. Charges from before name no price: nobody wrote down which one they were made with. Rows that are written with
 * every request name others without `REFERENCES`: the book has read those in the same transaction, and checking them
 * again took as long as writing the row. A charge is made once because its request has one record (`usage.request_id`);
 * a deposit, because its source is there once.
 */
function ledgerThatCanBeVerified(db: EmbeddedDatabase): void {
  db.script(`
  ALTER TABLE accounts ADD COLUMN entries INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE accounts ADD COLUMN head TEXT NOT NULL DEFAULT '';

  CREATE TABLE prices (
    id          INTEGER PRIMARY KEY,
    model       TEXT NOT NULL,
    version     INTEGER NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    since       INTEGER NOT NULL,
    UNIQUE (model, version)
  ) STRICT;

  ALTER TABLE entries RENAME TO entries_before;
  CREATE TABLE entries (
    account_id  TEXT NOT NULL,
    seq         INTEGER NOT NULL,
    kind        TEXT NOT NULL CHECK (kind = 'charge' OR kind = 'topup' OR kind = 'adjustment'),
    amount      INTEGER NOT NULL,
    balance     INTEGER NOT NULL,
    source      TEXT NOT NULL,
    key_id      TEXT,
    note        TEXT,
    at          INTEGER NOT NULL,
    input       INTEGER,
    cache_read  INTEGER,
    cache_write INTEGER,
    output      INTEGER,
    price_id    INTEGER,
    hash        TEXT NOT NULL
  ) STRICT;
  INSERT INTO entries
    SELECT account_id, row_number() OVER (PARTITION BY account_id ORDER BY id), kind, amount, balance, source, key_id,
           note, at, NULL, NULL, NULL, NULL, NULL, ''
    FROM entries_before;
  DROP TABLE entries_before;
  CREATE UNIQUE INDEX entries_by_account ON entries (account_id, seq);
  CREATE UNIQUE INDEX entries_by_source ON entries (account_id, source, kind) WHERE kind <> 'charge';

  ALTER TABLE holds RENAME TO holds_before;
  UPDATE accounts SET held = 0;
  UPDATE keys SET held = 0;
  CREATE TABLE holds (
    request_id        TEXT PRIMARY KEY,
    account_id        TEXT NOT NULL,
    key_id            TEXT NOT NULL,
    amount            INTEGER NOT NULL,
    owner             TEXT NOT NULL,
    expires_at        INTEGER NOT NULL,
    at                INTEGER NOT NULL,
    model             TEXT NOT NULL,
    channel           TEXT NOT NULL,
    protocol          TEXT NOT NULL,
    upstream_protocol TEXT NOT NULL,
    stream            INTEGER NOT NULL,
    price_id          INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE INDEX charges_of_requests ON entries (source);
  ALTER TABLE usage RENAME TO usage_before;
  CREATE TABLE usage (
    id                INTEGER PRIMARY KEY,
    request_id        TEXT NOT NULL UNIQUE,
    account_id        TEXT NOT NULL,
    key_id            TEXT NOT NULL,
    model             TEXT NOT NULL,
    channel           TEXT NOT NULL,
    protocol          TEXT NOT NULL,
    upstream_protocol TEXT NOT NULL,
    stream            INTEGER NOT NULL,
    status            TEXT NOT NULL,
    ending            TEXT,
    input             INTEGER NOT NULL,
    cache_read        INTEGER NOT NULL,
    cache_write       INTEGER NOT NULL,
    output            INTEGER NOT NULL,
    reasoning         INTEGER NOT NULL,
    source            TEXT NOT NULL,
    price_id          INTEGER,
    cost              INTEGER NOT NULL,
    held              INTEGER NOT NULL,
    started_at        INTEGER NOT NULL,
    first_byte_ms     INTEGER,
    duration_ms       INTEGER NOT NULL,
    entry_seq         INTEGER
  ) STRICT;
  INSERT INTO usage
    SELECT NULL, request_id, u.account_id, u.key_id, model, channel, protocol, upstream_protocol, stream, status, NULL,
           u.input, u.cache_read, u.cache_write, u.output, reasoning, u.source, NULL, cost, held, started_at,
           first_byte_ms, duration_ms, e.seq
    FROM usage_before u
    LEFT JOIN entries e ON e.account_id = u.account_id AND e.kind = 'charge' AND e.source = u.request_id
    ORDER BY started_at;
  DROP INDEX charges_of_requests;
  INSERT INTO usage
    SELECT NULL, request_id, account_id, key_id, '', '', 'chat', 'chat', 0, 'interrupted', NULL, 0, 0, 0, 0, 0,
           'estimated', NULL, 0, amount, at, NULL, 0, NULL
    FROM holds_before;
  DROP TABLE usage_before;
  DROP TABLE holds_before;
  CREATE INDEX usage_by_time ON usage (started_at);
  CREATE INDEX usage_by_account ON usage (account_id, started_at);
  CREATE INDEX usage_by_key ON usage (key_id, started_at);
  CREATE INDEX usage_by_model ON usage (model, started_at);
  CREATE INDEX usage_by_failure ON usage (started_at) WHERE status <> 'ok';
  CREATE INDEX usage_by_status ON usage (status, started_at) WHERE status <> 'ok';

  CREATE TABLE usage_hours (
    hour        INTEGER NOT NULL,
    account_id  TEXT NOT NULL,
    key_id      TEXT NOT NULL,
    model       TEXT NOT NULL,
    channel     TEXT NOT NULL,
    protocol    TEXT NOT NULL,
    status      TEXT NOT NULL,
    requests    INTEGER NOT NULL,
    input       INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    reasoning   INTEGER NOT NULL,
    cost        INTEGER NOT NULL,
    PRIMARY KEY (hour, account_id, key_id, model, channel, protocol, status)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO usage_hours
    SELECT started_at / 3600000, account_id, key_id, model, channel, protocol, status, count(*), sum(input),
           sum(cache_read), sum(cache_write), sum(output), sum(reasoning), sum(cost)
    FROM usage GROUP BY 1, 2, 3, 4, 5, 6, 7;
  `)
  chainEntries(db)
}

function chainEntries(db: EmbeddedDatabase): void {
  let [account, head] = ['', CHAIN_START]
  for (const row of db.rows<EntryRow>('SELECT * FROM entries ORDER BY account_id, seq')) {
    head = chainHash(row.account_id === account ? head : CHAIN_START, toEntry(row))
    account = row.account_id
    db.change('UPDATE entries SET hash = ? WHERE account_id = ? AND seq = ?', head, account, row.seq)
    db.change('UPDATE accounts SET entries = ?, head = ? WHERE id = ?', row.seq, head, account)
  }
}
