const COUNTED = ['requests', 'input', 'cache_read', 'cache_write', 'output', 'reasoning', 'cost']
const KEY = ['account_id', 'key_id', 'model', 'channel', 'protocol', 'status']

const each = (columns: readonly string[], write: (column: string) => string): string => columns.map(write).join(', ')

/**
 * What hours add up to, by the day: whoever looks at a month or a year reads a fraction of the rows. Whatever is written
 * to an hour is written to its day in the same moment, by the database itself. A row belongs to an account, as that of an
 * hour does, and is changed under the same lock.
 */
export const DAYS = `
  CREATE TABLE usage_days (
    day         BIGINT NOT NULL,
    account_id  TEXT COLLATE "C" NOT NULL,
    key_id      TEXT COLLATE "C" NOT NULL,
    model       TEXT COLLATE "C" NOT NULL,
    channel     TEXT COLLATE "C" NOT NULL,
    protocol    TEXT COLLATE "C" NOT NULL,
    status      TEXT COLLATE "C" NOT NULL,
    requests    BIGINT NOT NULL,
    input       BIGINT NOT NULL,
    cache_read  BIGINT NOT NULL,
    cache_write BIGINT NOT NULL,
    output      BIGINT NOT NULL,
    reasoning   BIGINT NOT NULL,
    cost        BIGINT NOT NULL,
    PRIMARY KEY (day, account_id, key_id, model, channel, protocol, status)
  ) WITH (fillfactor = 80);

  CREATE FUNCTION duet_day_1() RETURNS TRIGGER LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'INSERT' THEN
        INSERT INTO usage_days AS d VALUES (NEW.hour / 24, ${each(KEY, name => `NEW.${name}`)}, ${each(COUNTED, name => `NEW.${name}`)})
        ON CONFLICT (day, ${KEY.join(', ')}) DO UPDATE SET ${each(COUNTED, name => `${name} = d.${name} + excluded.${name}`)};
      ELSIF TG_OP = 'UPDATE' THEN
        UPDATE usage_days d SET ${each(COUNTED, name => `${name} = d.${name} + NEW.${name} - OLD.${name}`)}
        WHERE d.day = NEW.hour / 24 AND ${KEY.map(name => `d.${name} = NEW.${name}`).join(' AND ')};
      ELSE
        UPDATE usage_days d SET ${each(COUNTED, name => `${name} = d.${name} - OLD.${name}`)}
        WHERE d.day = OLD.hour / 24 AND ${KEY.map(name => `d.${name} = OLD.${name}`).join(' AND ')};
        DELETE FROM usage_days d
        WHERE d.day = OLD.hour / 24 AND ${KEY.map(name => `d.${name} = OLD.${name}`).join(' AND ')} AND d.requests = 0;
      END IF;
      RETURN NULL;
    END $$;

  -- From here on nobody writes to hours until this migration is over: no row is counted twice, and none is missed.
  CREATE TRIGGER hours_changed AFTER INSERT OR UPDATE OR DELETE ON usage_hours
    FOR EACH ROW EXECUTE FUNCTION duet_day_1();

  INSERT INTO usage_days
  SELECT hour / 24, ${KEY.join(', ')}, ${each(COUNTED, name => `sum(${name})`)} FROM usage_hours
  GROUP BY hour / 24, ${KEY.join(', ')} ORDER BY hour / 24;
`
