import { ask, type Work } from '../database.ts'

/** Everybody who comes after whoever waits for a lock waits, too: so briefly, and then again a little later. */
const WAIT_MS_MAX = 200
const TRIES_MAX = 20
const PAUSE_SECONDS = 0.5

/** Does what takes a strong lock on a table that is in use. Fails as any other wait for a lock that lasted too long. */
export function* brieflyLocked(sql: string): Work<void> {
  yield* ask.run(`
    DO $$
    BEGIN
      FOR tries IN 1..${TRIES_MAX} LOOP
        BEGIN
          SET LOCAL lock_timeout = ${WAIT_MS_MAX};
          ${sql};
          RETURN;
        EXCEPTION WHEN lock_not_available THEN
          IF tries = ${TRIES_MAX} THEN RAISE; END IF;
          PERFORM pg_sleep(${PAUSE_SECONDS} * random());
        END;
      END LOOP;
    END $$`)
}
