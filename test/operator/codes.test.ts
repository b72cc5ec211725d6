import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readCode } from '../../src/core/codes.ts'
import { dollars } from '../../src/core/money.ts'
import { createSealer } from '../../src/core/seal.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { Redemptions } from '../../src/ledger/redemptions.ts'
import { STORE } from '../support/databases.ts'
import { type Duet, type JsonBody, newFolder, startDuet } from '../support/duet.ts'
import { inviteMember, type Person, signInAsOperator } from '../support/people.ts'
import { storedBytes } from '../support/stored.ts'
import { openStoreOf } from '../support/stores.ts'

const SECRET = 'the-secret-of-these-tests'
const CODE = /^duet(-[0-9A-HJKMNP-TV-Z]{4}){4}$/

let duet: Duet
beforeAll(async () => {
  duet = await startDuet({ env: { DUET_SECRET: SECRET } })
})
afterAll(() => duet.stop())

async function makeCodes(fields: object = {}): Promise<JsonBody[]> {
  const { status, body } = await duet.admin('POST', '/api/codes', { amount: '5', ...fields })
  expect(status).toBe(201)
  return body.data
}

async function makeCode(fields: object = {}): Promise<JsonBody> {
  const [code] = await makeCodes(fields)
  return code
}

let members = 0
const newMember = (): Promise<Person> => inviteMember(duet, `redeemer-${++members}`)

const redeem = (who: Pick<Person, 'call'>, code: string, fields: object = {}) =>
  who.call('POST', '/api/codes/redeem', { code, ...fields })

const balanceOf = async (account: string, of = duet) => (await of.admin('GET', `/api/accounts/${account}`)).body.balance

const newAccount = async (): Promise<string> =>
  (await duet.admin('POST', '/api/accounts', { name: `redeemed-${++members}` })).body.id

describe('a redemption code', () => {
  test('is shown once, and the database does not have it', async () => {
    const { code, id, hint, ...rest } = await makeCode({ amount: '12.50', note: 'for the workshop' })
    expect(code).toMatch(CODE)
    expect(hint).toBe(`duet-…-${code.slice(-4)}`)
    expect(rest).toMatchObject({ amount: '12.50', note: 'for the workshop', redeemed_at: null, account: null })
    const { body } = await duet.admin('GET', '/api/codes')
    expect(body.data.find((row: JsonBody) => row.id === id)).toEqual({ id, hint, ...rest })
    expect(JSON.stringify(body)).not.toContain(code)
    const stored = await storedBytes(duet.folder)
    expect(stored).not.toContain(code)
    expect(stored).not.toContain(readCode(code) ?? code)
  })

  test('puts its money on the account of the member who redeems it', async () => {
    const member = await newMember()
    const { code, id, hint } = await makeCode()
    const { status, body } = await redeem(member, code)
    expect(status).toBe(201)
    const { account } = member.session
    expect(body).toMatchObject({ kind: 'topup', amount: '5.00', balance: '5.00', source: `code-${id}` })
    expect(body.account).toMatchObject({ id: account.id, balance: '5.00' })
    expect(body.note).toBe(`redemption code ${hint}`)
    const { body: codes } = await duet.admin('GET', '/api/codes')
    expect(codes.data.find((row: JsonBody) => row.id === id)).toMatchObject({
      account: account.id,
      account_name: account.name,
      redeemed_at: expect.any(String),
    })
  })

  test('may be typed as people type', async () => {
    const member = await newMember()
    const codes = await makeCodes({ count: 200, amount: '1' })
    const withDigits = codes.map(({ code }) => code).filter(code => /0/.test(code) && /1/.test(code))
    const typed = [
      (code: string) => code.toLowerCase(),
      (code: string) => code.replaceAll('-', ''),
      (code: string) => code.replaceAll('-', ' ').replace('duet', '  '),
      (code: string) => code.replaceAll('-', '–').replaceAll('0', 'O'),
      (code: string) => code.replaceAll('1', 'l').replaceAll('0', 'o'),
      (code: string) => `\t${code.replaceAll('1', 'I')}\n`,
    ]
    for (const [place, type] of typed.entries()) {
      const { status } = await redeem(member, type(withDigits[place] ?? expect.unreachable()))
      expect(status).toBe(201)
    }
    expect(await balanceOf(member.session.account.id)).toBe(`${typed.length}.00`)
  })

  test('is redeemed once, whoever comes second', async () => {
    const [first, second] = [await newMember(), await newMember()]
    const { code } = await makeCode()
    expect((await redeem(first, code)).status).toBe(201)
    for (const member of [first, second]) {
      const { status, body } = await redeem(member, code)
      expect([status, body.error]).toEqual([
        409,
        { code: 'code_redeemed', message: 'this code was redeemed already', param: 'code' },
      ])
    }
    expect(await balanceOf(first.session.account.id)).toBe('5.00')
    expect(await balanceOf(second.session.account.id)).toBe('0.00')
  })

  test('is redeemed once where many come at the same moment', async () => {
    const accounts = await Promise.all(Array.from({ length: 8 }, newAccount))
    const { code } = await makeCode()
    const answers = await Promise.all(
      accounts.map(account => duet.admin('POST', '/api/codes/redeem', { code, account })),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array.from({ length: 7 }, () => 409)])
    const balances = await Promise.all(accounts.map(account => balanceOf(account)))
    expect(balances.toSorted()).toEqual([...Array.from({ length: 7 }, () => '0.00'), '5.00'])
  })

  test('is refused when it has expired', async () => {
    const expires = Date.now() + 1500
    const { code } = await makeCode({ expires_at: new Date(expires).toISOString() })
    while (Date.now() <= expires) await Bun.sleep(20)
    const { status, body } = await redeem(await newMember(), code)
    expect([status, body.error.code]).toEqual([409, 'code_expired'])
  })

  test('can be taken back until it is redeemed', async () => {
    const [open, used] = await makeCodes({ count: 2 })
    const member = await newMember()
    await redeem(member, used.code)
    expect((await duet.admin('DELETE', `/api/codes/${open.id}`)).status).toBe(204)
    expect((await redeem(member, open.code)).status).toBe(404)
    expect((await duet.admin('DELETE', `/api/codes/${used.id}`)).status).toBe(409)
    expect((await duet.admin('DELETE', '/api/codes/rc_unknown')).status).toBe(404)
  })
})

describe('redeeming', () => {
  test('goes to the own account for members, and they cannot name another', async () => {
    const [member, other] = [await newMember(), await newMember()]
    const { code } = await makeCode()
    const { status, body } = await redeem(member, code, { account: other.session.account.id })
    expect([status, body.error.param]).toEqual([422, 'account'])
    expect((await redeem(member, code, { account: member.session.account.name })).status).toBe(201)
  })

  test('goes to any account for admins, and to their own if they name none', async () => {
    const operator = await signInAsOperator(duet)
    const [own, named] = await makeCodes({ count: 2 })
    const account = await newAccount()
    expect((await redeem(operator, own.code)).body.account.id).toBe(operator.session.account.id)
    expect((await redeem(operator, named.code, { account })).body.account.id).toBe(account)
  })

  test('has to name an account with the admin token, which has none', async () => {
    const { code } = await makeCode()
    const { status, body } = await duet.admin('POST', '/api/codes/redeem', { code })
    expect([status, body.error]).toEqual([
      422,
      { code: 'invalid_field', message: 'account: is required', param: 'account' },
    ])
  })

  test('tells a text that is no code from a code that does not exist', async () => {
    const member = await newMember()
    for (const text of ['', 'duet', 'hello', 'duet-0000-0000-0000-000', 'duet-0000-0000-0000-000U']) {
      const { status, body } = await redeem(member, text)
      expect([text, status, body.error.param]).toEqual([text, 422, 'code'])
    }
    const { status, body } = await redeem(member, 'duet-0000-0000-0000-0000')
    expect([status, body.error.code]).toEqual([404, 'not_found'])
  })

  test('is refused after ten failures, to whoever failed', async () => {
    const [guesser, other] = [await newMember(), await newMember()]
    const [code, another] = await makeCodes({ count: 2 })
    const wrong = Array.from({ length: 25 }, () => redeem(guesser, 'duet-0000-0000-0000-0000'))
    const answers = (await Promise.all(wrong)).map(({ status }) => status)
    expect(answers.toSorted()).toEqual([
      ...Array.from({ length: 10 }, () => 404),
      ...Array.from({ length: 15 }, () => 429),
    ])
    const response = await fetch(`${duet.url}/api/codes/redeem`, {
      method: 'POST',
      headers: { cookie: guesser.cookie, 'x-duet-console': '1' },
      body: JSON.stringify({ code: code.code }),
    })
    expect([response.status, ((await response.json()) as JsonBody).error.code]).toEqual([429, 'too_many_attempts'])
    const seconds = Number(response.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(500)
    expect(seconds).toBeLessThanOrEqual(600)
    expect((await redeem(other, another.code)).status).toBe(201)
  })
})

describe('codes are for admins', () => {
  test('to make, to list and to take back', async () => {
    const member = await newMember()
    const { id } = await makeCode()
    expect((await member.call('GET', '/api/codes')).status).toBe(403)
    expect((await member.call('POST', '/api/codes', { amount: 1 })).status).toBe(403)
    expect((await member.call('DELETE', `/api/codes/${id}`)).status).toBe(403)
  })

  test('who are told which field is at fault', async () => {
    const faults: [fields: object, param: string][] = [
      [{ amount: 0 }, 'amount'],
      [{ amount: '-1' }, 'amount'],
      [{ amount: 'much' }, 'amount'],
      [{ amount: 1, count: 0 }, 'count'],
      [{ amount: 1, count: 501 }, 'count'],
      [{ amount: 1, count: 1.5 }, 'count'],
      [{ amount: 1, expires_at: '2020-01-01' }, 'expires_at'],
      [{ amount: 1, expires_at: 'soon' }, 'expires_at'],
      [{ amount: 1, value: 2 }, 'value'],
    ]
    for (const [fields, param] of faults) {
      const { status, body } = await duet.admin('POST', '/api/codes', fields)
      expect([fields, status, body.error.param]).toEqual([fields, 422, param])
    }
  })

  test('page by page, newest first', async () => {
    const older = await makeCodes({ count: 3 })
    await Bun.sleep(2)
    const newer = await makeCodes({ count: 3 })
    const seen: string[] = []
    let cursor = ''
    for (let page = 0; page < 3; page++) {
      const { body } = await duet.admin('GET', `/api/codes?limit=2${cursor}`)
      seen.push(...body.data.map(({ id }: JsonBody) => id))
      cursor = `&cursor=${body.next}`
    }
    const ids = (codes: JsonBody[]) => codes.map(({ id }) => id).toSorted()
    expect(seen.slice(0, 3).toSorted()).toEqual(ids(newer))
    expect(seen.slice(3).toSorted()).toEqual(ids(older))
    expect((await duet.admin('GET', '/api/codes?cursor=nonsense')).status).toBe(422)
  })
})

describe('a redemption that was interrupted', () => {
  const hashOf = (code: string) => createSealer(SECRET).sign(`code ${readCode(code)}`)

  /** The database of a Duet that does not run. */
  async function withStore(work: (parts: Awaited<ReturnType<typeof openParts>>) => Promise<void>): Promise<void> {
    const parts = await openParts(duet.folder)
    await work(parts)
    await parts.store.close()
  }

  async function openParts(folder: string) {
    const store = await openStoreOf(folder)
    const ledger = new Ledger(store.ledger, { owner: 'test', clock: Date.now })
    return { store, ledger, redemptions: new Redemptions(store.codes, ledger) }
  }

  test('after the claim is paid by the next start, once', async () => {
    const accountId = await newAccount()
    const { code, id } = await makeCode()
    await duet.stop()
    await withStore(async ({ store }) => {
      expect(await store.codes.claim({ codeHash: hashOf(code), accountId, at: Date.now() })).toMatchObject({ id })
    })
    duet = await duet.restart()
    expect(await balanceOf(accountId)).toBe('5.00')
    expect(duet.output()).toContain('paid codes whose redemption was interrupted')
    await duet.stop()
    duet = await duet.restart()
    expect(await balanceOf(accountId)).toBe('5.00')
    expect((await duet.admin('POST', '/api/codes/redeem', { code, account: accountId })).status).toBe(409)
  })

  test('after the claim is redeemed by whoever asks again for the same account, and by nobody else', async () => {
    const { store, ledger, redemptions } = await openParts(newFolder())
    for (const id of ['first', 'second']) {
      await store.directory.createAccount({ id, name: id, group: 'default', createdAt: 0 })
    }
    const code = { id: 'rc', codeHash: 'hash', hint: 'hint', amount: dollars(5), note: undefined, createdAt: 0 }
    await store.codes.create([{ ...code, expiresAt: 10 }])
    expect(await store.codes.claim({ codeHash: 'hash', accountId: 'first', at: 9 })).toMatchObject({ id: 'rc' })

    const redeemFor = (accountId: string, at: number) => redemptions.redeem({ codeHash: 'hash', accountId, at })
    expect(await redeemFor('second', 9)).toEqual({ type: 'refused', why: 'redeemed' })
    // Its time is over by now, but it was claimed in time.
    expect(await redeemFor('first', 11)).toMatchObject({ type: 'redeemed', entry: { source: 'code-rc' } })
    expect(await redeemFor('first', 12)).toEqual({ type: 'refused', why: 'redeemed' })
    expect(await redeemFor('second', 12)).toEqual({ type: 'refused', why: 'redeemed' })
    expect((await store.directory.account('first'))?.balance).toBe(dollars(5))
    expect((await store.directory.account('second'))?.balance).toBe(dollars(0))
    expect(await redemptions.makeGood()).toBe(0)
    await ledger.drain()
    await store.close()
  })

  test('because the balance would be too large is done again by the same account, and by no other', async () => {
    const [account, other] = [await newAccount(), await newAccount()]
    const { code } = await makeCode()
    const redeemFor = (account: string) => duet.admin('POST', '/api/codes/redeem', { code, account })
    for (const amount of ['999999999', '1']) {
      await duet.admin('POST', `/api/accounts/${account}/topups`, { amount })
    }
    for (let times = 0; times < 2; times++) {
      const { status, body } = await redeemFor(account)
      expect([status, body.error.code]).toEqual([409, 'conflict'])
    }
    const refused = await redeemFor(other)
    expect([refused.status, refused.body.error.code]).toEqual([409, 'code_redeemed'])
    await duet.admin('POST', `/api/accounts/${account}/adjustments`, { amount: '-1000000000', note: 'a typo' })
    const { status, body } = await redeemFor(account)
    expect([status, body.account.balance]).toEqual([201, '5.00'])
    expect((await redeemFor(account)).status).toBe(409)
    expect([await balanceOf(account), await balanceOf(other)]).toEqual(['5.00', '0.00'])
  })

  test('after the deposit is not paid again', async () => {
    const accountId = await newAccount()
    const { code, id } = await makeCode()
    await duet.stop()
    await withStore(async ({ store, ledger }) => {
      const claimed = await store.codes.claim({ codeHash: hashOf(code), accountId, at: Date.now() })
      if (typeof claimed === 'string') expect.unreachable()
      const deposit = { kind: 'topup', accountId, amount: claimed.amount, note: undefined, at: Date.now() } as const
      await ledger.deposit({ ...deposit, source: `code-${id}` })
      expect(await store.codes.unpaid(10)).toHaveLength(1)
    })
    duet = await duet.restart()
    expect(await balanceOf(accountId)).toBe('5.00')
    await duet.stop()
    await withStore(async ({ store }) => expect(await store.codes.unpaid(10)).toEqual([]))
    duet = await duet.restart()
  })

  /** On PostgreSQL all of them are claimed at the same time, and a start makes good a hundred. */
  const COUNT = STORE === 'sqlite' ? 200 : 100

  test('by a kill in the middle of many leaves each code redeemed once or not at all', async () => {
    const account = await newAccount()
    const codes = await makeCodes({ count: COUNT, amount: '1' })
    let answered = 0
    const redeeming = codes.map(({ code }) =>
      duet.admin('POST', '/api/codes/redeem', { code, account }).then(
        ({ status }) => {
          if (status === 201) answered++
        },
        () => {},
      ),
    )
    while (answered < 10) await Bun.sleep(1)
    await duet.stop('SIGKILL')
    await Promise.all(redeeming)
    duet = await duet.restart()
    const { body } = await duet.admin('GET', `/api/codes?limit=${COUNT}`)
    const redeemed = body.data.filter(({ redeemed_at }: JsonBody) => redeemed_at !== null).length
    expect(redeemed).toBeGreaterThanOrEqual(answered)
    expect(await balanceOf(account)).toBe(`${redeemed}.00`)
    for (const { code } of codes) await duet.admin('POST', '/api/codes/redeem', { code, account })
    expect(await balanceOf(account)).toBe(`${COUNT}.00`)
    const { body: verified } = await duet.admin('GET', '/api/ledger/verify')
    expect(verified.ok).toBe(true)
  }, 30_000)

  test('because the balance would be too large is made good when there is room', async () => {
    const account = await newAccount()
    const { code } = await makeCode()
    await duet.admin('POST', `/api/accounts/${account}/topups`, { amount: '999999999' })
    await duet.admin('POST', `/api/accounts/${account}/topups`, { amount: '1' })
    const { status, body } = await duet.admin('POST', '/api/codes/redeem', { code, account })
    expect([status, body.error.code]).toEqual([409, 'conflict'])
    await duet.admin('POST', `/api/accounts/${account}/adjustments`, { amount: '-1000000000', note: 'a typo' })
    await duet.stop()
    duet = await duet.restart()
    expect(await balanceOf(account)).toBe('5.00')
  })
})
