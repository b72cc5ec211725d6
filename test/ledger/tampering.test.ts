import { beforeAll, describe, expect, test } from 'bun:test'
import { type Verification, verify } from '../../src/ledger/verify.ts'
import { startDuet } from '../support/duet.ts'
import { CHAT, post, user } from '../support/http.ts'
import { scriptUpstream } from '../support/upstream.ts'
import { type Caller, idOf, newCaller } from '../support/wire.ts'
import { type Forgery, forgeryOf } from './forgery.ts'
import { answering, configOf, QUESTION } from './stage.ts'

/** What a Duet that has worked for a while and was stopped has kept. */
let original: Forgery
/** Whose entries are tampered with: an opening, then charge, charge, top-up, adjustment, charge, charge. */
let account: string
let caller: Caller
let requests: { readonly second: string; readonly refused: string; readonly last: string }

beforeAll(async () => {
  const upstream = scriptUpstream(visit => {
    if (visit.body.max_tokens === 13) return new Response('no', { status: 500 })
    return answering({ input: visit.body.max_tokens, output: 50, cacheRead: 20, cacheWrite: 10, reasoning: 5 })(visit)
  })
  const duet = await startDuet({ config: configOf(upstream.base) })
  const bystander = await newCaller(duet)
  caller = await newCaller(duet)
  account = caller.account
  const call = ({ key }: Caller, max_tokens: number, model = 'acme/chat') =>
    post(duet, CHAT, { model, messages: user(QUESTION), max_tokens }, { key })
  const change = (what: string, body: object) => duet.admin('POST', `/api/accounts/${account}/${what}`, body)
  await call(caller, 101)
  const second = await call(caller, 102)
  await change('topups', { amount: '2', source: 'invoice-7', note: 'paid by card' })
  await change('adjustments', { amount: '-0.5', note: 'a mistake of ours' })
  await call(bystander, 103, 'acme/odd')
  await call(caller, 104, 'acme/crumbs')
  await call(caller, 13)
  const refused = await call(caller, 106, 'acme/unpriced')
  const last = await call(caller, 105)
  requests = { second: idOf(second), refused: idOf(refused), last: idOf(last) }
  expect(await duet.stop()).toBe(0)
  await upstream.stop()
  original = forgeryOf(duet.folder)
})

/** What a verification says of a copy, in which somebody may have changed something. */
async function verifyCopy(sql?: string): Promise<Verification> {
  return original.inCopy(sql && named(sql), audit => verify(audit))
}

/** Ids are not known before the file is made. */
const named = (text: string): string =>
  text
    .replaceAll('$ACCOUNT', account)
    .replaceAll('$KEY', caller.keyId)
    .replaceAll('$SECOND', requests.second)
    .replaceAll('$REFUSED', requests.refused)
    .replaceAll('$LAST', requests.last)

type Found = readonly [table: string, row: string, problem: RegExp]

const entry = (seq: number, problem: RegExp): Found => ['entries', `$ACCOUNT/${seq}`, problem]
const HASH = /the hash does not fit/
const AMOUNT = /tokens and price do not make this amount/
const SUM = /the balance is not the sum of the entries/

const editing = (seq: number, edit: string) =>
  `UPDATE entries SET ${edit} WHERE account_id = '$ACCOUNT' AND seq = ${seq}`

/** The last charge taken out of the chain, so that the account itself looks as if it had never been. */
const WITHOUT_LAST = `
  DELETE FROM entries WHERE account_id = '$ACCOUNT' AND seq = 7;
  UPDATE accounts SET entries = 6 WHERE id = '$ACCOUNT';`
const WITH_ITS_HEAD = `${WITHOUT_LAST}
  UPDATE accounts SET head = (SELECT hash FROM entries WHERE account_id = '$ACCOUNT' AND seq = 6) WHERE id = '$ACCOUNT';`
const WITH_ITS_BALANCE = `${WITH_ITS_HEAD}
  UPDATE accounts SET balance = (SELECT balance FROM entries WHERE account_id = '$ACCOUNT' AND seq = 6)
  WHERE id = '$ACCOUNT';`
const WITH_ITS_SPENT = `${WITH_ITS_BALANCE}
  UPDATE accounts SET spent = (SELECT -sum(amount) FROM entries WHERE account_id = '$ACCOUNT' AND kind = 'charge')
  WHERE id = '$ACCOUNT';`
const WITH_ITS_KEY = `${WITH_ITS_SPENT}
  UPDATE keys SET spent = (SELECT spent FROM accounts WHERE id = '$ACCOUNT') WHERE account_id = '$ACCOUNT';`

const TAMPERED: Readonly<Record<string, readonly [sql: string, found: Found]>> = {
  // ── one entry ─────────────────────────────────────────────────────────────────────────────────────────────────────
  'the amount of a charge': [editing(2, 'amount = amount + 1'), entry(2, AMOUNT)],
  'the amount of a top-up': [editing(4, 'amount = amount + 1'), entry(4, SUM)],
  'the balance after an entry': [editing(4, 'balance = balance + 1'), entry(4, SUM)],
  'a note': [editing(4, `note = 'paid in cash'`), entry(4, HASH)],
  'the source of a top-up': [editing(4, `source = 'invoice-8'`), entry(4, HASH)],
  'the kind of an entry': [editing(4, `kind = 'adjustment'`), entry(4, HASH)],
  'the time of an entry': [editing(5, 'at = at - 86400000'), entry(5, HASH)],
  'the key of a charge': [editing(3, `key_id = 'key_0'`), entry(3, HASH)],
  'the request of a charge': [editing(3, `source = 'somethingelse'`), entry(3, HASH)],
  'the input tokens of a charge': [editing(3, 'input = input - 1'), entry(3, AMOUNT)],
  'the output tokens of a charge': [editing(3, 'output = output - 1'), entry(3, AMOUNT)],
  'the cached tokens of a charge': [editing(3, 'cache_read = cache_read + 1'), entry(3, AMOUNT)],
  'the tokens written to a cache': [editing(3, 'cache_write = 0'), entry(3, AMOUNT)],
  'tokens moved where the amount stays': [editing(3, 'input = input + 4, output = output - 1'), entry(3, HASH)],
  'tokens within the rounding': [editing(6, 'input = input + 1'), entry(6, HASH)],
  'a price that a charge no longer names': [editing(3, 'price_id = NULL'), entry(3, HASH)],
  'the price that a charge names': [
    editing(3, `price_id = (SELECT id FROM prices WHERE model = 'acme/roomy')`),
    entry(3, HASH),
  ],
  'a hash': [editing(5, `hash = replace(hash, substr(hash, 1, 1), 'x')`), entry(5, HASH)],
  'the first entry of all': [editing(1, `note = 'a gift'`), entry(1, HASH)],

  // ── entries that are gone, or were never made ─────────────────────────────────────────────────────────────────────
  'an entry in the middle that is gone': [
    `DELETE FROM entries WHERE account_id = '$ACCOUNT' AND seq = 3`,
    entry(4, /the number does not follow on/),
  ],
  'the last entry that is gone': [
    `DELETE FROM entries WHERE account_id = '$ACCOUNT' AND seq = 7`,
    ['accounts', '$ACCOUNT', /rows are missing at the end/],
  ],
  'the last entry, and the number of entries': [WITHOUT_LAST, ['accounts', '$ACCOUNT', /last hash/]],
  'the last entry, number and hash': [WITH_ITS_HEAD, ['accounts', '$ACCOUNT', SUM]],
  'the last entry, number, hash and balance': [WITH_ITS_BALANCE, ['accounts', '$ACCOUNT', /amount spent/]],
  'the last entry, and all of its account': [WITH_ITS_SPENT, ['keys', '$KEY', /amount spent/]],
  'a charge removed from account and key': [WITH_ITS_KEY, ['usage', '$LAST', /the cost is not what was charged/]],
  'two entries that changed places': [
    `UPDATE entries SET seq = -seq WHERE account_id = '$ACCOUNT' AND seq IN (4, 5);
     UPDATE entries SET seq = 9 + seq WHERE account_id = '$ACCOUNT' AND seq < 0;`,
    entry(4, SUM),
  ],
  'a top-up that nobody made': [
    `INSERT INTO entries (account_id, seq, kind, amount, balance, source, at, hash)
       SELECT account_id, 8, 'topup', 1000000000, balance + 1000000000, 'forged', at, hash
       FROM entries WHERE account_id = '$ACCOUNT' AND seq = 7;
     UPDATE accounts SET entries = 8, balance = balance + 1000000000 WHERE id = '$ACCOUNT';`,
    entry(8, HASH),
  ],

  // ── prices ────────────────────────────────────────────────────────────────────────────────────────────────────────
  'a price': [`UPDATE prices SET output = output + 1000000 WHERE model = 'acme/chat'`, entry(2, AMOUNT)],
  'a price within the rounding': [`UPDATE prices SET output = output + 1 WHERE model = 'acme/crumbs'`, entry(6, HASH)],
  'a price that is gone': [`DELETE FROM prices WHERE model = 'acme/crumbs'`, entry(6, AMOUNT)],

  // ── accounts, keys and holds ──────────────────────────────────────────────────────────────────────────────────────
  'the balance of an account': [
    `UPDATE accounts SET balance = balance + 1 WHERE id = '$ACCOUNT'`,
    ['accounts', '$ACCOUNT', SUM],
  ],
  'what an account has spent': [
    `UPDATE accounts SET spent = spent - 1 WHERE id = '$ACCOUNT'`,
    ['accounts', '$ACCOUNT', /the amount spent is not the sum of the charges/],
  ],
  'what an account holds': [
    `UPDATE accounts SET held = held + 1 WHERE id = '$ACCOUNT'`,
    ['accounts', '$ACCOUNT', /the amount held is not the sum of the holds/],
  ],
  'the last hash of an account': [
    `UPDATE accounts SET head = '' WHERE id = '$ACCOUNT'`,
    ['accounts', '$ACCOUNT', /last hash/],
  ],
  'what a key has spent': [
    `UPDATE keys SET spent = 0 WHERE account_id = '$ACCOUNT'`,
    ['keys', '$KEY', /the amount spent is not the sum of its charges/],
  ],
  'what a key holds': [
    `UPDATE keys SET held = 5 WHERE account_id = '$ACCOUNT'`,
    ['keys', '$KEY', /the amount held is not the sum of its holds/],
  ],
  'an account that is gone': [
    `DELETE FROM accounts WHERE id = '$ACCOUNT'`,
    ['accounts', '$ACCOUNT', /the account of these entries is not there/],
  ],
  'a key that is gone': [`DELETE FROM keys WHERE account_id = '$ACCOUNT'`, ['keys', '$KEY', /./]],
  'a hold that nobody took': [
    `INSERT INTO holds SELECT 'forged', '$ACCOUNT', id, 7, 'x', 0, 0, '', '', 'chat', 'chat', 0, 1
     FROM keys WHERE account_id = '$ACCOUNT'`,
    ['accounts', '$ACCOUNT', /the amount held is not the sum of the holds/],
  ],

  // ── records ───────────────────────────────────────────────────────────────────────────────────────────────────────
  'the tokens of a record': [
    `UPDATE usage SET output = output - 1 WHERE request_id = '$SECOND'`,
    ['usage', '$SECOND', /tokens and price do not make this cost/],
  ],
  'tokens of a record where the cost stays': [
    `UPDATE usage SET input = input + 4, output = output - 1 WHERE request_id = '$SECOND'`,
    ['usage', '$SECOND', /./],
  ],
  'the cost of a record': [
    `UPDATE usage SET cost = 0 WHERE request_id = '$SECOND'`,
    ['usage', '$SECOND', /tokens and price do not make this cost/],
  ],
  'a record made free of charge': [
    `UPDATE usage SET cost = 0, input = 0, cache_read = 0, cache_write = 0, output = 0 WHERE request_id = '$SECOND'`,
    ['usage', '$SECOND', /the cost is not what was charged/],
  ],
  'a record given to another account': [
    `UPDATE usage SET account_id = 'default' WHERE request_id = '$SECOND'`,
    ['usage', '$SECOND', /the cost is not what was charged/],
  ],
  'a record given to another key': [
    `UPDATE usage SET key_id = 'key_of_nobody' WHERE request_id = '$SECOND'`,
    ['usage', '$SECOND', /the key is not the one charged/],
  ],
  'a record of another model': [
    `UPDATE usage SET model = 'acme/odd' WHERE request_id = '$SECOND'`,
    ['usage', '$SECOND', /the model is not that of the price/],
  ],
  'a record of another day': [
    `UPDATE usage SET started_at = started_at + 86400000 WHERE request_id = '$SECOND'`,
    ['usage', '$SECOND', /it did not end when it was charged/],
  ],
  'a record that is gone': [
    `DELETE FROM usage WHERE request_id = '$SECOND'`,
    ['usage_hours', '$ACCOUNT', /the number of requests/],
  ],
  'a refusal that is gone': [
    `DELETE FROM usage WHERE request_id = '$REFUSED'`,
    ['usage_hours', '$ACCOUNT', /the number of requests/],
  ],
  'a refusal that is said to have cost something': [
    `UPDATE usage SET cost = 1 WHERE request_id = '$REFUSED'`,
    ['usage', '$REFUSED', /the cost is not what was charged/],
  ],
  'a refusal that is said to have used something': [
    `UPDATE usage SET output = 1 WHERE request_id = '$REFUSED'`,
    ['usage_hours', '$ACCOUNT', /the tokens are not the sum/],
  ],
  'the sums of an hour': [
    `UPDATE usage_hours SET cost = cost + 1 WHERE account_id = '$ACCOUNT' AND status = 'ok'`,
    ['usage_hours', '$ACCOUNT', /the cost is not the sum of the records/],
  ],
  'the requests of an hour': [
    `UPDATE usage_hours SET requests = requests + 1 WHERE account_id = '$ACCOUNT' AND status = 'ok'`,
    ['usage_hours', '$ACCOUNT', /the number of requests/],
  ],
  'the tokens of an hour': [
    `UPDATE usage_hours SET output = output + 1 WHERE account_id = '$ACCOUNT' AND status = 'ok'`,
    ['usage_hours', '$ACCOUNT', /./],
  ],
}

describe('8. Recomputable: a changed row is found, and the first that does not fit is named', () => {
  test('where nothing was touched there is none', async () => {
    const { heads, ...verification } = await verifyCopy()
    expect(verification).toMatchObject({ accounts: 3, entries: 10, charges: 5, unpriced: 0, usage: 7, openHolds: 0 })
    expect(verification.problem).toBeUndefined()
    expect(heads.size).toBe(3)
  })

  for (const [title, [sql, [table, row, problem]]] of Object.entries(TAMPERED)) {
    test(title, async () => {
      const { problem: found } = await verifyCopy(sql)
      expect<unknown>([found?.table, found?.row]).toEqual([table, named(row)])
      expect(found?.problem).toMatch(problem)
      expect<unknown>(found?.expected).not.toBe(found?.found)
    })
  }

  test('of two changed rows, the first', async () => {
    const { problem } = await verifyCopy(`${editing(5, 'amount = 0')}; ${editing(3, `note = 'x'`)};`)
    expect(problem?.row).toBe(`${account}/3`)
  })

  test('records for people may be cleared away with their sums: charges keep what they were computed from', async () => {
    const { problem, ...counts } = await verifyCopy('DELETE FROM usage_hours; DELETE FROM usage;')
    expect(problem).toBeUndefined()
    expect(counts).toMatchObject({ entries: 10, charges: 5, unpriced: 0, usage: 0 })
  })

  test('a server that starts on it says so too', async () => {
    const folder = await original.tamperedFolder(named(editing(5, `note = 'nothing to see'`)))
    const duet = await startDuet({ folder })
    const { body } = await duet.admin('GET', '/api/ledger/verify')
    expect(body).toMatchObject({ ok: false, problem: { table: 'entries', row: `${account}/5` } })
    await duet.stop()
  })
})
