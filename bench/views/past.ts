/**
 * A past of many requests, as SQL for PostgreSQL: row `i` is what a formula says, so that a slow view can be looked at
 * again. A few accounts ask for most of it, a key mostly for one model, and each month has more than the one before. It
 * adds up like a real one, except that nobody has chained the entries: their hashes are any.
 */
export interface Past {
  readonly rows: number
  readonly accounts: number
  readonly keysPerAccount: number
  readonly models: number
  readonly from: number
  readonly to: number
}

export const CHANNELS = 4
export const FAILURES = ['upstream_error', 'client_gone', 'rate_limited', 'upstream_timeout']
/** A million dollars. */
const TOP_UP = 1_000_000_000_000_000n
const CAP = 900_000_000_000_000n

const padded = (number: string, digits: number): string => `lpad(CAST(${number} AS TEXT), ${digits}, '0')`
const accountId = (number: string): string => `'acc_' || ${padded(number, 6)}`
const keyId = (number: string): string => `'key_' || ${padded(number, 7)}`
const modelId = (number: string): string => `'acme/model-' || ${number}`
const requestId = (number: string): string => `'request' || ${padded(number, 12)}`
const hashOf = (text: string): string => `encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`

/** Accounts with money, and their keys: every third has a cap. */
export const peopleOf = ({ accounts, keysPerAccount, from }: Past): string[] => [
  `INSERT INTO accounts (id, name, grp, created_at, balance, entries)
     SELECT ${accountId('n')}, 'account ' || n, 'default', ${from}, ${TOP_UP}, 1 FROM generate_series(0, ${accounts - 1}) n`,
  `INSERT INTO keys (id, account_id, name, secret_hash, hint, created_at, cap)
     SELECT ${keyId('n')}, ${accountId(`n / ${keysPerAccount}`)}, 'key ' || n, 'hash ' || n, '', ${from} + n,
            CASE WHEN n % 3 = 0 THEN ${CAP} END
     FROM generate_series(0, ${accounts * keysPerAccount - 1}) n`,
  `INSERT INTO entries (account_id, seq, kind, amount, balance, source, note, at, hash)
     SELECT id, 1, 'topup', ${TOP_UP}, ${TOP_UP}, 'first', 'the first', ${from}, ${hashOf('id')} FROM accounts`,
]

/** From 0 to below 1, another one for each `salt`. */
const chance = (salt: number): string =>
  `CAST(hashint8extended(i, ${salt}) & 9007199254740991 AS FLOAT) / CAST(9007199254740992 AS FLOAT)`

interface Slice {
  readonly first: number
  /** Among them. */
  readonly last: number
}

/** Who asked when for what, in numbers. */
const chosen = ({ rows, accounts, keysPerAccount, models, from, to }: Past, { first, last }: Slice): string => `
  SELECT i, at, account, key, status_chance, fast,
         (key * 7 + CASE WHEN model_chance < 0.8 THEN 0 WHEN model_chance < 0.95 THEN 1 ELSE 2 END) % ${models} AS model
  FROM (
    SELECT *, account * ${keysPerAccount} + CAST(floor(${keysPerAccount} * key_chance * key_chance) AS BIGINT) AS key
    FROM (
      SELECT i, CAST(floor(${from} + ${to - from} * sqrt(CAST(i AS FLOAT) / ${rows})) AS BIGINT) AS at,
             CAST(floor(power(CAST(${accounts + 1} AS FLOAT), ${chance(1)})) AS BIGINT) - 1 AS account,
             ${chance(2)} AS key_chance, ${chance(3)} AS model_chance, ${chance(4)} AS status_chance, ${chance(5)} AS fast
      FROM generate_series(CAST(${first} AS BIGINT), ${last}) i
    ) drawn
  ) keyed`

const names = FAILURES.map(name => `'${name}'`).join(', ')
const STATUS = `CASE WHEN status_chance < 0.97 THEN 'ok'
  ELSE (ARRAY[${names}])[1 + CAST(floor(status_chance * CAST(1e6 AS FLOAT)) AS BIGINT) % ${FAILURES.length}] END`

/** Some of the requests with their entries; what was there before must be there already. */
export const requestsOf = (past: Past, slice: Slice): string => `
  WITH drawn AS (
    SELECT *, ${STATUS} AS status, CAST(50 + fast * 4000 AS BIGINT) AS tokens, ${accountId('account')} AS account_id
    FROM (${chosen(past, slice)}) c
  ), used AS (
    INSERT INTO usage AS u (id, request_id, account_id, key_id, model, channel, protocol, upstream_protocol, stream, status,
      ending, input, cache_read, cache_write, output, reasoning, source, price_id, cost, held, started_at, first_byte_ms,
      duration_ms, entry_seq, error)
    SELECT i + 1, ${requestId('i')}, account_id, ${keyId('key')}, ${modelId('model')}, 'channel-' || model % ${CHANNELS},
           CASE WHEN key % 2 = 0 THEN 'chat' ELSE 'messages' END, 'chat', i % 2, status,
           CASE WHEN status = 'ok' THEN 'stop' END, tokens, tokens / 4, 0, tokens / 5, 0, 'upstream', 1, tokens * 1800, 9000000,
           at, CAST(100 + fast * fast * 2000 AS BIGINT), CAST(300 + fast * fast * 20000 AS BIGINT),
           a.entries + row_number() OVER (PARTITION BY account_id ORDER BY i),
           CASE WHEN status <> 'ok' THEN 'it was ' || status END
    FROM drawn JOIN accounts a ON a.id = account_id
    RETURNING u.*
  ), entered AS (
    INSERT INTO entries (account_id, seq, kind, amount, balance, source, key_id, at, input, cache_read, cache_write, output,
      price_id, hash)
    SELECT u.account_id, u.entry_seq, 'charge', -u.cost,
           a.balance - sum(u.cost) OVER (PARTITION BY u.account_id ORDER BY u.entry_seq), u.request_id, u.key_id,
           u.started_at + u.duration_ms, u.input, u.cache_read, u.cache_write, u.output, 1, ${hashOf('u.request_id')}
    FROM used u JOIN accounts a ON a.id = u.account_id
  ), charged AS (
    UPDATE keys k SET spent = k.spent + c.cost, last_used_at = c.at
    FROM (SELECT key_id, CAST(sum(cost) AS BIGINT) AS cost, max(started_at) AS at FROM used GROUP BY key_id) c
    WHERE k.id = c.key_id
  )
  UPDATE accounts a SET entries = a.entries + c.count, balance = a.balance - c.cost, spent = a.spent + c.cost
  FROM (SELECT account_id, count(*) AS count, CAST(sum(cost) AS BIGINT) AS cost FROM used GROUP BY account_id) c
  WHERE a.id = c.account_id`

/** In the order of time, as they would have come; days all at once, and not with each of their hours. */
export const SUMS = [
  'ALTER TABLE usage_hours DISABLE TRIGGER hours_changed',
  `INSERT INTO usage_hours
     SELECT started_at / 3600000, account_id, key_id, model, channel, protocol, status, count(*), sum(input), sum(cache_read),
            sum(cache_write), sum(output), sum(reasoning), sum(cost)
     FROM usage GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7`,
  `INSERT INTO usage_days
     SELECT hour / 24, account_id, key_id, model, channel, protocol, status, sum(requests), sum(input), sum(cache_read),
            sum(cache_write), sum(output), sum(reasoning), sum(cost)
     FROM usage_hours GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7`,
  'ALTER TABLE usage_hours ENABLE TRIGGER hours_changed',
]
