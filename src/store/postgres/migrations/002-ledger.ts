/**
 * The rules of `core/book.ts`, beside the rows they are about: a batch is one call, one round trip, one transaction.
 *
 * Locks are taken in one order by everybody: accounts by their ids, then keys by theirs, then owners. All other rows belong to
 * an account and are touched under its lock. So batches wait for each other, but never in a circle, and what a statement after
 * the locks reads stays true until the end.
 *
 * Whatever is called may be called again, and may be executed long after its caller has given up on it: by a server that was
 * frozen, over a network that was slow. That is why each of them has its effect once, and none that nobody knows of stays:
 *
 * - hold: is it there already, for the same account and key, the answer is the same. Has its request a record, it is refused,
 *   so that a late one holds nothing for a call that is over. Executed while nobody waits for it, it is a stray: its owner
 *   finds it among its holds and not among its calls (`recover`).
 * - extend: without its hold, nothing. Else more is held than the caller knows of, until the settlement gives it back.
 * - settle: needs a hold, or the record of an interruption. Afterwards there is a record, and neither of those.
 * - refuse: with a record, nothing. Deposit: with its source, the entry that there is.
 * - renew: an owner seems to live for one lease more. Recover: names requests that have no caller and never will have one.
 */
export const LEDGER = `
  CREATE FUNCTION duet_now() RETURNS BIGINT LANGUAGE sql VOLATILE AS
    'SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)';

  -- As core/chain.ts has it; the rest of what is said was put together there.
  CREATE FUNCTION duet_hash_1(before TEXT, account TEXT, seq BIGINT, kind TEXT, amount BIGINT, balance BIGINT, rest TEXT)
  RETURNS TEXT LANGUAGE sql STABLE AS $$
    SELECT encode(sha256(convert_to(
      before || ' ' || account || ' ' || seq || ' ' || kind || ' ' || amount || ' ' || balance || ' ' || rest, 'UTF8')), 'hex')
  $$;

  -- Nobody has a lease for longer than a lease from now, unless the clock was set back since: then it says nothing, and whoever
  -- lives has a new one within seconds. Twice as long, because clocks are set back by a little all the time.
  CREATE FUNCTION duet_is_leased_1(expires_at BIGINT, lease_ms BIGINT) RETURNS BOOLEAN LANGUAGE sql VOLATILE AS
    'SELECT expires_at > duet_now() AND expires_at <= duet_now() + 2 * lease_ms';

  CREATE FUNCTION duet_renew_1(of_owner TEXT, lease_ms BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
  DECLARE
    moment BIGINT := duet_now();
  BEGIN
    INSERT INTO owners VALUES (of_owner, moment, moment + lease_ms)
    ON CONFLICT (owner) DO UPDATE SET
      since = CASE WHEN owners.since <= moment AND duet_is_leased_1(owners.expires_at, lease_ms)
                   THEN owners.since ELSE moment END,
      expires_at = moment + lease_ms;
  END $$;

  -- Takes a batch as store/postgres/batch.ts writes it, and answers with a text for each operation. Operations name accounts,
  -- keys and requests by their places in three lists, from 1. An operation is a list itself, from 0:
  --   0 kind, 1 request, 2 account, 3 key, 4 amount, 5 least, 6 owner | what a hash says besides what is decided here,
  --   7 expiry | time of the entry
  --   of holds and records: 8 model, 9 channel, 10 protocol, 11 upstream protocol, 12 stream, 13 price
  --   of holds: 14 at
  --   of records: 14 status, 15 ending, 16 input, 17 cache read, 18 cache write, 19 output, 20 reasoning, 21 source,
  --     22 started at, 23 first byte, 24 duration, 25 error, 26 attempts, 27 price of the charge
  --   of deposits: 8 source, 9 note
  -- \`known_since\` and \`known_until\` are when the first and the last call began that would hold something.
  CREATE FUNCTION duet_commit_1(
    accounts_touched TEXT[], keys_touched TEXT[], request_ids TEXT[], extended_ids TEXT[], ops JSONB,
    known_since BIGINT, known_until BIGINT, kept_answers JSONB, renewing TEXT, lease_ms BIGINT
  ) RETURNS TEXT LANGUAGE plpgsql
  -- What others do with an account takes milliseconds. One that is locked for longer is waited for apart (ledger/detour.ts),
  -- and not with the locks of others in hand.
  SET lock_timeout = '1s' AS $$
  DECLARE
    BALANCE_MAX CONSTANT BIGINT := 1000000000000000000;
    -- Two times at which the same call began are closer together than this. It spares a look at all other months.
    DAY CONSTANT BIGINT := 86400000;
    NOTHING CONSTANT BIGINT := -1;

    account_ids TEXT[] := accounts_touched;
    key_ids TEXT[] := keys_touched;
    requests_count INT := cardinality(request_ids);

    -- By place: accounts, keys, and what each request holds, of which account and key, until when.
    a_balance BIGINT[]; a_held BIGINT[]; a_spent BIGINT[]; a_entries BIGINT[]; a_head TEXT[];
    k_cap BIGINT[]; k_spent BIGINT[]; k_held BIGINT[]; k_usable BOOLEAN[];
    r_held BIGINT[] := array_fill(NOTHING, ARRAY[requests_count]);
    r_account INT[] := array_fill(0, ARRAY[requests_count]);
    r_key INT[] := array_fill(0, ARRAY[requests_count]);
    r_until BIGINT[] := array_fill(NOTHING, ARRAY[requests_count]);
    r_recorded BOOLEAN[] := array_fill(FALSE, ARRAY[requests_count]);

    -- What is to be written.
    has_moved BOOLEAN := FALSE;
    taken_ops INT[]; taken_requests INT[];
    more_requests INT[];
    gone_ids TEXT[];
    e_ops INT[]; e_seqs BIGINT[]; e_amounts BIGINT[]; e_balances BIGINT[]; e_hashes TEXT[];
    u_ops INT[]; u_held BIGINT[]; u_seqs BIGINT[];

    outcomes TEXT[];
    found_row RECORD; op RECORD;
    op_place INT := -1;
    a INT; k INT; r INT;
    free BIGINT; remaining BIGINT; sum BIGINT; released BIGINT; entered BIGINT;
  BEGIN
    -- ── what is touched ────────────────────────────────────────────────────────────────────────────────────────────────

    -- Whose hold it is never changes, so that this may be read before there is a lock.
    IF cardinality(extended_ids) > 0 THEN
      account_ids := account_ids || ARRAY(
        SELECT DISTINCT h.account_id FROM holds h
        WHERE h.request_id = ANY (extended_ids) AND h.account_id <> ALL (account_ids));
      key_ids := key_ids || ARRAY(
        SELECT DISTINCT h.key_id FROM holds h WHERE h.request_id = ANY (extended_ids) AND h.key_id <> ALL (key_ids));
    END IF;

    -- Every place from the first on, also of what is not there: lists that begin elsewhere would be taken for each other's.
    a_balance := array_fill(CAST(NULL AS BIGINT), ARRAY[cardinality(account_ids)]);
    a_held := a_balance;
    a_spent := a_balance;
    a_entries := a_balance;
    a_head := array_fill(CAST(NULL AS TEXT), ARRAY[cardinality(account_ids)]);
    k_cap := array_fill(CAST(NULL AS BIGINT), ARRAY[cardinality(key_ids)]);
    k_spent := k_cap;
    k_held := k_cap;
    k_usable := array_fill(CAST(NULL AS BOOLEAN), ARRAY[cardinality(key_ids)]);

    -- LATERAL and LIMIT leave one way to do it, now and whatever the server believes about its tables later on: row by row,
    -- in this order, each by its key.
    FOR found_row IN
      SELECT t.place, o.*
      FROM (SELECT u.id, u.place FROM unnest(account_ids) WITH ORDINALITY AS u (id, place) ORDER BY u.id COLLATE "C") AS t,
           LATERAL (SELECT s.balance, s.held, s.spent, s.entries, s.head
                    FROM accounts s WHERE s.id = t.id LIMIT 1 FOR NO KEY UPDATE) AS o
    LOOP
      a := found_row.place;
      a_balance[a] := found_row.balance;
      a_held[a] := found_row.held;
      a_spent[a] := found_row.spent;
      a_entries[a] := found_row.entries;
      a_head[a] := found_row.head;
    END LOOP;

    FOR found_row IN
      SELECT t.place, o.*
      FROM (SELECT u.id, u.place FROM unnest(key_ids) WITH ORDINALITY AS u (id, place) ORDER BY u.id COLLATE "C") AS t,
           LATERAL (SELECT s.cap, s.spent, s.held, s.enabled = 1 AND s.revoked_at IS NULL AS usable
                    FROM keys s WHERE s.id = t.id LIMIT 1 FOR NO KEY UPDATE) AS o
    LOOP
      k := found_row.place;
      k_cap[k] := found_row.cap;
      k_spent[k] := found_row.spent;
      k_held[k] := found_row.held;
      k_usable[k] := found_row.usable;
    END LOOP;

    FOR found_row IN
      SELECT t.place, o.*
      FROM unnest(request_ids) WITH ORDINALITY AS t (id, place),
           LATERAL (SELECT s.amount, s.account_id, s.key_id, s.expires_at
                    FROM holds s WHERE s.request_id = t.id LIMIT 1) AS o
    LOOP
      r := found_row.place;
      r_held[r] := found_row.amount;
      r_account[r] := array_position(account_ids, found_row.account_id);
      r_key[r] := array_position(key_ids, found_row.key_id);
      r_until[r] := found_row.expires_at;
    END LOOP;

    IF known_since IS NOT NULL THEN
      FOR found_row IN
        SELECT t.place
        FROM unnest(request_ids) WITH ORDINALITY AS t (id, place),
             LATERAL (SELECT FROM usage s
                      WHERE s.request_id = t.id AND s.started_at BETWEEN known_since - DAY AND known_until + DAY LIMIT 1) AS o
      LOOP
        r_recorded[found_row.place] := TRUE;
      END LOOP;
    END IF;

    -- ── the rules ──────────────────────────────────────────────────────────────────────────────────────────────────────

    FOR op IN
      SELECT v ->> 0 AS kind, CAST(v ->> 1 AS INT) AS request, CAST(v ->> 2 AS INT) AS account, CAST(v ->> 3 AS INT) AS key,
             CAST(v ->> 4 AS BIGINT) AS amount, CAST(v ->> 5 AS BIGINT) AS least, v ->> 6 AS rest,
             CAST(v ->> 7 AS BIGINT) AS until, v
      FROM jsonb_array_elements(ops) AS v
    LOOP
      op_place := op_place + 1;
      a := op.account;
      k := op.key;
      r := op.request;

      IF op.kind = 'hold' OR op.kind = 'extend' THEN
        IF op.kind = 'extend' THEN
          IF r_held[r] = NOTHING THEN
            outcomes := array_append(outcomes, 'no-hold');
            CONTINUE;
          END IF;
          a := r_account[r];
          k := r_key[r];
        ELSIF r_held[r] <> NOTHING THEN
          IF r_account[r] IS DISTINCT FROM a OR r_key[r] IS DISTINCT FROM k THEN
            RAISE EXCEPTION 'request % was there before', request_ids[r];
          END IF;
          outcomes := array_append(outcomes, 'held ' || r_held[r] || ' ' || r_held[r]);
          CONTINUE;
        ELSIF r_recorded[r] THEN
          RAISE EXCEPTION 'request % was there before', request_ids[r];
        END IF;

        IF k_usable[k] IS NULL THEN RAISE EXCEPTION 'there is no key %', key_ids[k]; END IF;
        IF NOT k_usable[k] THEN
          outcomes := array_append(outcomes, 'key-unusable');
          CONTINUE;
        END IF;
        IF a_balance[a] IS NULL THEN RAISE EXCEPTION 'there is no account %', account_ids[a]; END IF;
        free := a_balance[a] - a_held[a];
        IF a_balance[a] <= 0 OR free < op.least THEN
          outcomes := array_append(outcomes, 'balance-short ' || a_balance[a] || ' ' || greatest(free, 0));
          CONTINUE;
        END IF;
        -- NULL without a cap: no comparison is true then, and \`least\` passes over it.
        remaining := k_cap[k] - k_spent[k] - k_held[k];
        IF remaining <= 0 OR remaining < op.least THEN
          outcomes := array_append(outcomes, 'cap-short ' || greatest(remaining, 0));
          CONTINUE;
        END IF;
        free := least(free, remaining);
        sum := least(op.amount, free);
        has_moved := TRUE;
        a_held[a] := a_held[a] + sum;
        k_held[k] := k_held[k] + sum;
        IF op.kind = 'hold' THEN
          r_held[r] := sum;
          r_account[r] := a;
          r_key[r] := k;
          taken_ops := array_append(taken_ops, op_place);
          taken_requests := array_append(taken_requests, r);
        ELSE
          r_held[r] := r_held[r] + sum;
          more_requests := array_append(more_requests, r);
        END IF;
        r_until[r] := op.until;
        outcomes := array_append(outcomes, 'held ' || r_held[r] || ' ' || free);
        CONTINUE;
      END IF;

      IF op.kind = 'settle' OR op.kind = 'refuse' THEN
        released := NULL;
        IF op.kind = 'settle' THEN
          IF a_balance[a] IS NULL THEN RAISE EXCEPTION 'there is no account %', account_ids[a]; END IF;
          IF k_usable[k] IS NULL THEN RAISE EXCEPTION 'there is no key %', key_ids[k]; END IF;
        END IF;
        IF r_held[r] <> NOTHING THEN
          IF r_account[r] IS DISTINCT FROM a OR r_key[r] IS DISTINCT FROM k THEN
            RAISE EXCEPTION 'request % holds the money of somebody else', request_ids[r];
          END IF;
          released := r_held[r];
          has_moved := TRUE;
          a_held[a] := a_held[a] - released;
          k_held[k] := k_held[k] - released;
          r_held[r] := NOTHING;
          gone_ids := array_append(gone_ids, request_ids[r]);
        ELSIF op.kind = 'refuse' AND r_recorded[r] THEN
          NULL;
        ELSIF op.kind = 'settle' THEN
          -- Somebody has taken its owner for dead, which it was not: it is charged after all.
          DELETE FROM usage s
          WHERE s.request_id = request_ids[r] AND s.status = 'interrupted' AND s.entry_seq IS NULL
            AND s.started_at BETWEEN CAST(op.v ->> 22 AS BIGINT) - DAY AND CAST(op.v ->> 22 AS BIGINT) + DAY
          RETURNING * INTO found_row;
          IF FOUND THEN
            released := found_row.held;
            UPDATE usage_hours s SET requests = s.requests - 1
            WHERE s.hour = found_row.started_at / 3600000 AND s.account_id = found_row.account_id
              AND s.key_id = found_row.key_id AND s.model = found_row.model AND s.channel = found_row.channel
              AND s.protocol = found_row.protocol AND s.status = found_row.status;
            DELETE FROM usage_hours s
            WHERE s.hour = found_row.started_at / 3600000 AND s.account_id = found_row.account_id
              AND s.key_id = found_row.key_id AND s.requests = 0;
          END IF;
        ELSIF NOT EXISTS (
          SELECT FROM usage s
          WHERE s.request_id = request_ids[r]
            AND s.started_at BETWEEN CAST(op.v ->> 22 AS BIGINT) - DAY AND CAST(op.v ->> 22 AS BIGINT) + DAY)
        THEN
          released := 0;
        END IF;
        entered := NULL;
        IF released IS NOT NULL AND op.amount > 0 THEN entered := -op.amount; END IF;
      ELSE
        SELECT s.* INTO found_row FROM deposits s
        WHERE s.account_id = account_ids[a] AND s.kind = op.kind AND s.source = op.v ->> 8;
        IF FOUND THEN
          outcomes := array_append(outcomes, 'known ' || json_build_array(found_row.seq, CAST(found_row.amount AS TEXT),
            CAST(found_row.balance AS TEXT), found_row.note, found_row.at, found_row.hash));
          CONTINUE;
        END IF;
        IF a_balance[a] IS NULL THEN
          outcomes := array_append(outcomes, 'no-account');
          CONTINUE;
        END IF;
        entered := op.amount;
        IF a_balance[a] + entered > BALANCE_MAX OR a_balance[a] + entered < -BALANCE_MAX THEN
          outcomes := array_append(outcomes, 'balance-too-large');
          CONTINUE;
        END IF;
      END IF;

      IF entered IS NOT NULL THEN
        has_moved := TRUE;
        a_balance[a] := a_balance[a] + entered;
        a_entries[a] := a_entries[a] + 1;
        a_head[a] := duet_hash_1(a_head[a], account_ids[a], a_entries[a],
          CASE op.kind WHEN 'settle' THEN 'charge' ELSE op.kind END, entered, a_balance[a], op.rest);
        e_ops := array_append(e_ops, op_place);
        e_seqs := array_append(e_seqs, a_entries[a]);
        e_amounts := array_append(e_amounts, entered);
        e_balances := array_append(e_balances, a_balance[a]);
        e_hashes := array_append(e_hashes, a_head[a]);
      END IF;

      IF op.kind = 'settle' OR op.kind = 'refuse' THEN
        IF released IS NOT NULL THEN
          IF entered IS NOT NULL THEN
            a_spent[a] := a_spent[a] - entered;
            k_spent[k] := k_spent[k] - entered;
          END IF;
          r_recorded[r] := TRUE;
          u_ops := array_append(u_ops, op_place);
          u_held := array_append(u_held, released);
          u_seqs := array_append(u_seqs, CASE WHEN entered IS NULL THEN NULL ELSE a_entries[a] END);
        END IF;
        outcomes := array_append(outcomes, CASE op.kind
          WHEN 'refuse' THEN 'recorded'
          ELSE 'settled ' || a_balance[a] ||
            CASE WHEN k_cap[k] IS NULL THEN '' ELSE ' ' || greatest(k_cap[k] - k_spent[k], 0) END END);
      ELSE
        -- At once: the same source may come again in the same batch.
        INSERT INTO deposits (account_id, kind, source, seq, amount, balance, note, at, hash)
        VALUES (account_ids[a], op.kind, op.v ->> 8, a_entries[a], entered, a_balance[a], op.v ->> 9, op.until, a_head[a]);
        outcomes := array_append(outcomes, 'deposited ' || a_entries[a] || ' ' || a_balance[a] || ' ' || a_head[a]);
      END IF;
    END LOOP;

    -- ── what has become of it ──────────────────────────────────────────────────────────────────────────────────────────

    IF taken_ops IS NOT NULL THEN
      INSERT INTO holds (request_id, account_id, key_id, amount, owner, expires_at, at, model, channel, protocol,
                         upstream_protocol, stream, price_id)
      SELECT request_ids[t.request], account_ids[r_account[t.request]], key_ids[r_key[t.request]], r_held[t.request],
             v ->> 6, r_until[t.request], CAST(v ->> 14 AS BIGINT), v ->> 8, v ->> 9, v ->> 10, v ->> 11,
             CAST(v ->> 12 AS BIGINT), CAST(v ->> 13 AS BIGINT)
      FROM unnest(taken_ops, taken_requests) AS t (place, request),
           LATERAL (SELECT ops -> t.place AS v OFFSET 0) AS o
      WHERE r_held[t.request] <> NOTHING;
    END IF;

    IF more_requests IS NOT NULL THEN
      UPDATE holds s SET amount = r_held[t.request], expires_at = r_until[t.request]
      FROM (SELECT DISTINCT unnest(more_requests) AS request) AS t
      WHERE s.request_id = request_ids[t.request] AND r_held[t.request] <> NOTHING;
    END IF;

    IF gone_ids IS NOT NULL THEN
      DELETE FROM holds s WHERE s.request_id = ANY (gone_ids);
    END IF;

    IF e_ops IS NOT NULL THEN
      INSERT INTO entries (account_id, seq, kind, amount, balance, source, key_id, note, at, input, cache_read, cache_write,
                           output, price_id, hash)
      SELECT account_ids[CAST(v ->> 2 AS INT)], t.seq, CASE v ->> 0 WHEN 'settle' THEN 'charge' ELSE v ->> 0 END, t.amount,
             t.balance, coalesce(request_ids[CAST(v ->> 1 AS INT)], v ->> 8), key_ids[CAST(v ->> 3 AS INT)],
             CASE v ->> 0 WHEN 'settle' THEN NULL ELSE v ->> 9 END, CAST(v ->> 7 AS BIGINT), CAST(v ->> 16 AS BIGINT),
             CAST(v ->> 17 AS BIGINT), CAST(v ->> 18 AS BIGINT), CAST(v ->> 19 AS BIGINT), CAST(v ->> 27 AS BIGINT), t.hash
      FROM unnest(e_ops, e_seqs, e_amounts, e_balances, e_hashes) AS t (place, seq, amount, balance, hash),
           LATERAL (SELECT ops -> t.place AS v OFFSET 0) AS o;
    END IF;

    IF u_ops IS NOT NULL THEN
      -- Whoever has got a number for a record must be known to be under way (store/usage-end.ts).
      PERFORM pg_current_xact_id();
      WITH written AS (
        INSERT INTO usage AS s (request_id, account_id, key_id, model, channel, protocol, upstream_protocol, stream, status,
                                ending, input, cache_read, cache_write, output, reasoning, source, price_id, cost, held,
                                started_at, first_byte_ms, duration_ms, entry_seq, error, attempts)
        SELECT request_ids[CAST(v ->> 1 AS INT)], account_ids[CAST(v ->> 2 AS INT)], key_ids[CAST(v ->> 3 AS INT)],
               v ->> 8, v ->> 9, v ->> 10, v ->> 11, CAST(v ->> 12 AS BIGINT), v ->> 14, v ->> 15, CAST(v ->> 16 AS BIGINT),
               CAST(v ->> 17 AS BIGINT), CAST(v ->> 18 AS BIGINT), CAST(v ->> 19 AS BIGINT), CAST(v ->> 20 AS BIGINT),
               v ->> 21, nullif(CAST(v ->> 13 AS BIGINT), 0), CAST(v ->> 4 AS BIGINT), t.held, CAST(v ->> 22 AS BIGINT),
               CAST(v ->> 23 AS BIGINT), CAST(v ->> 24 AS BIGINT), t.seq, v ->> 25, v ->> 26
        FROM unnest(u_ops, u_held, u_seqs) AS t (place, held, seq),
             LATERAL (SELECT ops -> t.place AS v OFFSET 0) AS o
        RETURNING s.started_at / 3600000 AS hour, s.account_id, s.key_id, s.model, s.channel, s.protocol, s.status, s.input,
                  s.cache_read, s.cache_write, s.output, s.reasoning, s.cost
      )
      INSERT INTO usage_hours AS h (hour, account_id, key_id, model, channel, protocol, status, requests, input, cache_read,
                                    cache_write, output, reasoning, cost)
      SELECT w.hour, w.account_id, w.key_id, w.model, w.channel, w.protocol, w.status, count(*), sum(w.input),
             sum(w.cache_read), sum(w.cache_write), sum(w.output), sum(w.reasoning), sum(w.cost)
      FROM written w GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7
      ON CONFLICT (hour, account_id, key_id, model, channel, protocol, status) DO UPDATE SET
        requests = h.requests + excluded.requests, input = h.input + excluded.input,
        cache_read = h.cache_read + excluded.cache_read, cache_write = h.cache_write + excluded.cache_write,
        output = h.output + excluded.output, reasoning = h.reasoning + excluded.reasoning, cost = h.cost + excluded.cost;
    END IF;

    IF kept_answers IS NOT NULL THEN
      -- An answer under the same name whose time is over may still be there. One whose time is not over was made while this
      -- one's owner was thought to be dead, and somebody has got it: it stays.
      INSERT INTO answers (key_id, name_hash, fingerprint, request_id, headers, is_stream, sealed, expires_at)
      SELECT v ->> 1, v ->> 2, v ->> 3, v ->> 4, v ->> 5, CAST(v ->> 6 AS BIGINT), decode(v ->> 7, 'base64'),
             CAST(v ->> 8 AS BIGINT)
      FROM jsonb_array_elements(kept_answers) AS v
      WHERE CAST(v ->> 0 AS INT) = ANY (u_ops) AND NOT EXISTS (
        SELECT FROM answers s
        WHERE s.key_id = v ->> 1 AND s.name_hash = v ->> 2
          AND s.expires_at > CAST(ops -> CAST(v ->> 0 AS INT) ->> 7 AS BIGINT))
      ON CONFLICT (key_id, name_hash) DO UPDATE SET
        fingerprint = excluded.fingerprint, request_id = excluded.request_id, headers = excluded.headers,
        is_stream = excluded.is_stream, sealed = excluded.sealed, expires_at = excluded.expires_at;
    END IF;

    IF has_moved THEN
      UPDATE accounts s SET balance = t.balance, held = t.held, spent = t.spent, entries = t.entries, head = t.head
      FROM unnest(account_ids, a_balance, a_held, a_spent, a_entries, a_head) AS t (id, balance, held, spent, entries, head)
      WHERE s.id = t.id AND (s.held <> t.held OR s.entries <> t.entries);

      UPDATE keys s SET spent = t.spent, held = t.held
      FROM unnest(key_ids, k_spent, k_held) AS t (id, spent, held)
      WHERE s.id = t.id AND (s.held <> t.held OR s.spent <> t.spent);
    END IF;

    IF renewing IS NOT NULL THEN PERFORM duet_renew_1(renewing, lease_ms); END IF;
    RETURN array_to_json(outcomes);
  END $$;

  -- Whose accounts somebody else has locked, of what a batch would touch. It waits for none of them itself.
  CREATE FUNCTION duet_locked_1(accounts_touched TEXT[], keys_touched TEXT[], extended_ids TEXT[])
  RETURNS SETOF TEXT LANGUAGE plpgsql SET lock_timeout = '1s' AS $$
  DECLARE
    account_ids TEXT[] := accounts_touched || ARRAY(SELECT h.account_id FROM holds h WHERE h.request_id = ANY (extended_ids));
    key_ids TEXT[] := keys_touched || ARRAY(SELECT h.key_id FROM holds h WHERE h.request_id = ANY (extended_ids));
    free_accounts TEXT[];
    free_keys TEXT[];
  BEGIN
    free_accounts := ARRAY(SELECT s.id FROM accounts s WHERE s.id = ANY (account_ids) FOR NO KEY UPDATE SKIP LOCKED);
    free_keys := ARRAY(SELECT s.id FROM keys s WHERE s.id = ANY (key_ids) FOR NO KEY UPDATE SKIP LOCKED);
    RETURN QUERY
      SELECT s.id FROM accounts s WHERE s.id = ANY (account_ids) AND s.id <> ALL (free_accounts)
      UNION SELECT s.account_id FROM keys s WHERE s.id = ANY (key_ids) AND s.id <> ALL (free_keys);
  END $$;

  -- Records as interrupted, and releases, what nobody will settle any more: the strays that an owner names, and what dead
  -- owners hold. An owner may say that others are dead when it has itself been heard of for a whole lease without a break:
  -- after the database was away, everybody has had time to say that they live. Accounts that somebody else has locked are
  -- waited for, or left for the next time. Returns how many holds there were.
  CREATE FUNCTION duet_recover_1(
    of_owner TEXT, strays JSONB, moment BIGINT, lease_ms BIGINT, holds_max BIGINT, is_waiting BOOLEAN
  ) RETURNS BIGINT LANGUAGE plpgsql SET lock_timeout = '1s' AS $$
  DECLARE
    DAY CONSTANT BIGINT := 86400000;
    ids TEXT[] := ARRAY(SELECT jsonb_array_elements_text(strays));
    account_ids TEXT[];
    key_ids TEXT[];
    may_bury BOOLEAN;
    released BIGINT := 0;
  BEGIN
    SELECT duet_is_leased_1(o.expires_at, lease_ms) AND duet_now() - o.since >= lease_ms INTO may_bury
    FROM owners o WHERE o.owner = of_owner;
    IF may_bury THEN
      ids := ids || ARRAY(
        SELECT h.request_id FROM holds h LEFT JOIN owners o ON o.owner = h.owner
        WHERE h.owner <> of_owner AND duet_is_leased_1(o.expires_at, lease_ms) IS NOT TRUE LIMIT holds_max);
    END IF;

    IF cardinality(ids) > 0 THEN
      -- Whoever has got a number for a record must be known to be under way (store/usage-end.ts).
      PERFORM pg_current_xact_id();
      account_ids := ARRAY(SELECT DISTINCT h.account_id FROM holds h WHERE h.request_id = ANY (ids));
      key_ids := ARRAY(SELECT DISTINCT h.key_id FROM holds h WHERE h.request_id = ANY (ids));
      IF is_waiting THEN
        PERFORM FROM accounts s WHERE s.id = ANY (account_ids) ORDER BY s.id FOR NO KEY UPDATE;
        PERFORM FROM keys s WHERE s.id = ANY (key_ids) ORDER BY s.id FOR NO KEY UPDATE;
      ELSE
        account_ids := ARRAY(SELECT s.id FROM accounts s WHERE s.id = ANY (account_ids) FOR NO KEY UPDATE SKIP LOCKED);
        key_ids := ARRAY(SELECT s.id FROM keys s WHERE s.id = ANY (key_ids) FOR NO KEY UPDATE SKIP LOCKED);
      END IF;

      WITH gone AS (
        DELETE FROM holds h
        WHERE h.request_id = ANY (ids) AND h.account_id = ANY (account_ids) AND h.key_id = ANY (key_ids)
          -- Its owner may have been heard of while this waited for its locks.
          AND (h.owner = of_owner
            OR NOT EXISTS (SELECT FROM owners o WHERE o.owner = h.owner AND duet_is_leased_1(o.expires_at, lease_ms)))
        RETURNING *
      ), released_accounts AS (
        UPDATE accounts s SET held = s.held - g.amount
        FROM (SELECT account_id, CAST(sum(amount) AS BIGINT) AS amount FROM gone GROUP BY account_id) AS g
        WHERE s.id = g.account_id
      ), released_keys AS (
        UPDATE keys s SET held = s.held - g.amount
        FROM (SELECT key_id, CAST(sum(amount) AS BIGINT) AS amount FROM gone GROUP BY key_id) AS g
        WHERE s.id = g.key_id
      ), written AS (
        INSERT INTO usage AS s (request_id, account_id, key_id, model, channel, protocol, upstream_protocol, stream, status,
                                input, cache_read, cache_write, output, reasoning, source, price_id, cost, held, started_at,
                                duration_ms)
        SELECT g.request_id, g.account_id, g.key_id, g.model, g.channel, g.protocol, g.upstream_protocol, g.stream,
               'interrupted', 0, 0, 0, 0, 0, 'estimated', nullif(g.price_id, 0), 0, g.amount, g.at, greatest(moment - g.at, 0)
        FROM gone g
        WHERE NOT EXISTS (
          SELECT FROM usage u WHERE u.request_id = g.request_id AND u.started_at BETWEEN g.at - DAY AND g.at + DAY)
        RETURNING s.started_at / 3600000 AS hour, s.account_id, s.key_id, s.model, s.channel, s.protocol, s.status
      ), summed AS (
        INSERT INTO usage_hours AS h (hour, account_id, key_id, model, channel, protocol, status, requests, input,
                                      cache_read, cache_write, output, reasoning, cost)
        SELECT w.hour, w.account_id, w.key_id, w.model, w.channel, w.protocol, w.status, count(*), 0, 0, 0, 0, 0, 0
        FROM written w GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7
        ON CONFLICT (hour, account_id, key_id, model, channel, protocol, status) DO UPDATE SET
          requests = h.requests + excluded.requests
      )
      SELECT count(*) INTO released FROM gone;
    END IF;

    -- Owners that hold nothing and have been silent for a day, or were last heard of by a clock that was set back since.
    IF may_bury THEN
      DELETE FROM owners o
      WHERE (o.expires_at < duet_now() - DAY OR o.expires_at > duet_now() + 2 * lease_ms)
        AND NOT EXISTS (SELECT FROM holds h WHERE h.owner = o.owner);
    END IF;
    RETURN released;
  END $$;
`
