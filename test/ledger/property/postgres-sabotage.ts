import type { PostgresDatabase } from '../../../src/store/postgres/database.ts'
import { LEDGER } from '../../../src/store/postgres/migrations/002-ledger.ts'
import type { Sabotage } from './sabotage.ts'

/** The same functions, in place of those that there are. */
export const asReplacement = (functions: string): string =>
  functions.replaceAll('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION')

/** The functions of the ledger with another text in one place. */
const rewrite =
  (text: string, replacement: string) =>
  async (db: PostgresDatabase): Promise<void> => {
    if (!LEDGER.includes(text)) throw new Error(`the ledger does not say: ${text}`)
    await db.script(asReplacement(LEDGER).replaceAll(text, replacement))
  }

/** By the name that `DUET_BREAK` takes. */
export const POSTGRES_SABOTAGES: Readonly<Record<string, Sabotage>> = {
  'ignores-caps': {
    breaks: [2],
    functions: rewrite('IF remaining <= 0 OR remaining < op.least THEN', 'IF FALSE THEN'),
  },
  'takes-more-than-the-cap-leaves': {
    breaks: [2],
    functions: rewrite('free := least(free, remaining);', ''),
  },
  'trusts-every-account': {
    breaks: [2],
    functions: rewrite('IF a_balance[a] <= 0 OR free < op.least THEN', 'IF FALSE THEN'),
  },
  'looks-at-the-cap-of-spent-money-only': {
    breaks: [2],
    functions: rewrite('k_cap[k] - k_spent[k] - k_held[k]', 'k_cap[k] - k_spent[k]'),
  },
  'serves-keys-that-were-revoked': {
    breaks: [2],
    functions: rewrite('IF NOT k_usable[k] THEN', 'IF FALSE THEN'),
  },
  'keeps-the-hold-of-a-settled-request': {
    // What still has a hold is charged again when it is settled again.
    breaks: [2, 4, 5, 'answers'],
    functions: rewrite('DELETE FROM holds s WHERE s.request_id = ANY (gone_ids)', 'PERFORM 1'),
  },
  'charges-repeats-again': {
    breaks: [1, 5],
    functions: rewrite(`IF released IS NOT NULL AND op.amount > 0 THEN`, 'IF op.amount > 0 THEN'),
  },
  'applies-a-deposit-twice': {
    breaks: ['answers', 1],
    functions: rewrite('s.kind = op.kind AND s.source =', 'FALSE AND s.source ='),
  },
  'forgets-what-a-key-spent': {
    breaks: [1, 5],
    functions: rewrite('k_spent[k] := k_spent[k] - entered;', ''),
  },
  'does-not-sum-up-refusals': {
    breaks: [8],
    functions: rewrite('FROM written w GROUP BY', `FROM written w WHERE w.status <> 'model_not_found' GROUP BY`),
  },
  'breaks-the-chain': {
    breaks: [8],
    functions: rewrite('a_head[a] := duet_hash_1(a_head[a],', `a_head[a] := duet_hash_1('',`),
  },
  'does-not-recover': {
    breaks: [4],
    functions: rewrite('IF cardinality(ids) > 0 THEN', 'IF FALSE THEN'),
  },
  'recovers-without-giving-back': {
    breaks: [2, 3],
    functions: rewrite('UPDATE accounts s SET held = s.held - g.amount', 'UPDATE accounts s SET held = s.held'),
  },
}
