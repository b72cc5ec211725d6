/**
 * Forward only; a database remembers how many it has seen (`user_version`). Never edit one that was released: add one.
 * Amounts are signed integers in nano-dollars, times are milliseconds since 1970.
 */
export const MIGRATIONS: readonly string[] = [
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
]
