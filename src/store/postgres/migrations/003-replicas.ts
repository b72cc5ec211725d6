const catalogTriggers = (table: string): string => `
  CREATE TRIGGER ${table}_come_and_gone AFTER INSERT OR DELETE ON ${table}
    FOR EACH ROW EXECUTE FUNCTION duet_changed_1('catalog');
  CREATE TRIGGER ${table}_changed AFTER UPDATE ON ${table} FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*)
    EXECUTE FUNCTION duet_changed_1('catalog');`

/** What replicas must know of each other. Times are milliseconds by this server's clock, where nothing else is said. */
export const REPLICAS = `
  -- What every replica keeps in memory has a topic; whatever changes it says so as it is committed, whoever changes it: once
  -- for a transaction, whose number is the version. What changes nothing says nothing. By column: the ledger writes to keys
  -- with every request, and nothing here is even called for that. A new key is nobody's memory yet.
  INSERT INTO changes VALUES ('keys', 0), ('catalog', 0);

  CREATE FUNCTION duet_changed_1() RETURNS TRIGGER LANGUAGE plpgsql AS $$
    DECLARE
      this_one BIGINT := CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT);
    BEGIN
      UPDATE changes SET version = this_one WHERE topic = TG_ARGV[0] AND version <> this_one;
      IF FOUND THEN PERFORM pg_notify('duet_changes', TG_ARGV[0]); END IF;
      RETURN NULL;
    END $$;

  CREATE TRIGGER keys_gone AFTER DELETE ON keys FOR EACH ROW EXECUTE FUNCTION duet_changed_1('keys');
  CREATE TRIGGER keys_changed AFTER UPDATE OF account_id, secret_hash, models, expires_at, enabled, revoked_at, is_admins,
      keep_days, max_concurrent, max_per_minute
    ON keys FOR EACH ROW
    WHEN ((OLD.account_id, OLD.secret_hash, OLD.models, OLD.expires_at, OLD.enabled, OLD.revoked_at, OLD.is_admins,
           OLD.keep_days, OLD.max_concurrent, OLD.max_per_minute) IS DISTINCT FROM
          (NEW.account_id, NEW.secret_hash, NEW.models, NEW.expires_at, NEW.enabled, NEW.revoked_at, NEW.is_admins,
           NEW.keep_days, NEW.max_concurrent, NEW.max_per_minute))
    EXECUTE FUNCTION duet_changed_1('keys');
  CREATE TRIGGER accounts_gone AFTER DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION duet_changed_1('keys');
  CREATE TRIGGER accounts_changed AFTER UPDATE OF grp ON accounts FOR EACH ROW WHEN (OLD.grp IS DISTINCT FROM NEW.grp)
    EXECUTE FUNCTION duet_changed_1('keys');
${['models', 'channels', 'channel_keys', 'pauses'].map(catalogTriggers).join('')}
  -- What each replica does with keys that have limits. Not logged: if it is lost in a crash, every replica has said it
  -- again half a second later. \`recent\` is a list of [age in milliseconds at the time of writing, requests].
  CREATE UNLOGGED TABLE key_uses (
    key_id    TEXT COLLATE "C" NOT NULL,
    owner     TEXT COLLATE "C" NOT NULL,
    under_way BIGINT NOT NULL,
    recent    TEXT NOT NULL,
    at        BIGINT NOT NULL,
    PRIMARY KEY (key_id, owner)
  ) WITH (fillfactor = 50);

  -- Failed attempts to sign in and the like; \`who\` is signed, so that nobody reads here what was typed. Not logged: a
  -- crash forgives, as a restart does elsewhere.
  CREATE UNLOGGED TABLE attempts (
    who   TEXT COLLATE "C" PRIMARY KEY,
    count BIGINT NOT NULL,
    until BIGINT NOT NULL
  ) WITH (fillfactor = 50);

  -- Calls with a name (idempotency-key) that are under way, and who makes them.
  CREATE TABLE claims (
    key_id      TEXT COLLATE "C" NOT NULL,
    name_hash   TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT NOT NULL,
    request_id  TEXT COLLATE "C" NOT NULL,
    owner       TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (key_id, name_hash)
  ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

  -- Whether somebody may still be making a call: its replica lives, or money is held for it. What is held by a dead one is
  -- released only when it is certain to be dead.
  CREATE FUNCTION duet_is_made_1(its_owner TEXT, its_request TEXT) RETURNS BOOLEAN LANGUAGE sql STABLE AS
    'SELECT EXISTS (SELECT 1 FROM owners WHERE owner = its_owner AND expires_at > duet_now())
         OR EXISTS (SELECT 1 FROM holds WHERE request_id = its_request)';

  -- Who makes the call that a name stands for: nobody any more ('answered'), the replica that asks ('ours'), or another
  -- ('elsewhere'). Each statement in here sees what others have committed by then, and answers are looked for after the
  -- claim is made: whoever had it before has stored the answer before it gave the claim back. Ids of requests begin with
  -- their time: a replica that has claimed the name for a later one has given this one up, and it is executed late.
  CREATE FUNCTION duet_claim_1(
    the_key TEXT, the_name TEXT, the_fingerprint TEXT, the_request TEXT, the_owner TEXT, lease_ms BIGINT, now_ms BIGINT,
    OUT state TEXT, OUT fingerprint TEXT
  ) LANGUAGE plpgsql AS $$
    DECLARE
      taken claims%ROWTYPE;
    BEGIN
      state := 'answered';
      PERFORM 1 FROM answers a WHERE a.key_id = the_key AND a.name_hash = the_name AND a.expires_at > now_ms;
      IF FOUND THEN RETURN; END IF;

      -- A claim is as good as the lease of who has it.
      PERFORM 1 FROM owners o WHERE o.owner = the_owner AND o.expires_at > duet_now();
      IF NOT FOUND THEN PERFORM duet_renew_1(the_owner, lease_ms); END IF;

      LOOP
        SELECT * INTO taken FROM claims c WHERE c.key_id = the_key AND c.name_hash = the_name;
        IF FOUND AND (CASE taken.owner WHEN the_owner THEN taken.request_id > the_request
                      ELSE duet_is_made_1(taken.owner, taken.request_id) END) THEN
          state := 'elsewhere';
          fingerprint := taken.fingerprint;
          RETURN;
        END IF;
        INSERT INTO claims AS c (key_id, name_hash, fingerprint, request_id, owner)
          VALUES (the_key, the_name, the_fingerprint, the_request, the_owner)
          ON CONFLICT (key_id, name_hash) DO UPDATE
            SET fingerprint = excluded.fingerprint, request_id = excluded.request_id, owner = excluded.owner
            WHERE c.request_id = taken.request_id;
        EXIT WHEN FOUND;
      END LOOP;

      PERFORM 1 FROM answers a WHERE a.key_id = the_key AND a.name_hash = the_name AND a.expires_at > now_ms;
      IF FOUND THEN
        DELETE FROM claims c WHERE c.key_id = the_key AND c.name_hash = the_name AND c.request_id = the_request;
        RETURN;
      END IF;
      state := 'ours';
    END $$;
`
