import { describe, expect, test } from 'bun:test'
import {
  amountOf,
  answering,
  costOf,
  dollarsOf,
  nameOf,
  PROMPT,
  QUESTION,
  readUntil,
  type Tokens,
  unfinished,
  useLedger,
} from '../ledger/stage.ts'
import { PAIRS, PATHS, type Pair } from '../pairs/pairs.ts'
import { protocolOf, saying } from '../pairs/wire.ts'
import type { JsonBody } from '../support/duet.ts'
import { type Answer, CHAT, framesOf, post, user } from '../support/http.ts'
import { eventStream } from '../support/upstream.ts'
import { ask, idOf, newCaller } from '../support/wire.ts'

const stage = useLedger()

// ── receipts ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Dollars in millionths of a billionth: what a bill is made of before it is rounded. */
function millionths(text: string): bigint {
  const [, whole = '', fraction = ''] = /^(\d+)\.(\d{2,15})$/.exec(text) ?? []
  expect(`${whole}.${fraction}`).toBe(text)
  return BigInt(whole + fraction.padEnd(15, '0'))
}

/** Computes a bill again from its lines, as anyone can who has nothing but the receipt. */
function expectSound({ receipt, cost, tokens }: JsonBody): void {
  const { lines, sum, rounding, total } = receipt.arithmetic
  expect(lines.map((line: JsonBody) => line.class)).toEqual(['input', 'cache_read', 'cache_write', 'output'])
  let added = 0n
  for (const line of lines) {
    expect(line.tokens).toBe(tokens[line.class])
    expect(line.price).toBe(receipt.price[line.class])
    // A price is for a million tokens, so its billionths are the millionths of a token's.
    expect(millionths(line.amount)).toBe(BigInt(line.tokens) * amountOf(line.price))
    added += millionths(line.amount)
  }
  expect(millionths(sum)).toBe(added)
  expect(millionths(rounding)).toBeLessThan(1_000_000n)
  expect(millionths(total)).toBe(added + millionths(rounding))
  expect([total, receipt.tokens]).toEqual([cost, { ...tokens, source: expect.any(String) }])
  expect(amountOf(receipt.hold.amount) - amountOf(receipt.hold.returned)).toBe(amountOf(total))
}

interface Asked {
  readonly pair?: Pair
  readonly model?: string
  readonly fields?: object
}

async function receiptOf({ pair = { client: 'chat', upstream: 'chat' }, model, fields = {} }: Asked) {
  const caller = await newCaller(stage.duet)
  const body = ask(pair.client, model ?? `acme/${pair.upstream}`, QUESTION, { max_tokens: 500, ...fields })
  const answer = await post(stage.duet, PATHS[pair.client], body, { key: caller.key })
  return { caller, answer, record: await stage.receipt(idOf(answer)) }
}

describe('GET /api/usage/{request_id}', () => {
  for (const pair of PAIRS) {
    for (const stream of [false, true]) {
      test(`explains an answer, to the last digit: ${nameOf(pair)}, ${stream ? 'streamed' : 'whole'}`, async () => {
        const tokens = { input: 300, output: 50, cacheRead: 600, cacheWrite: 100, reasoning: 20 }
        stage.answer = answering(tokens)
        const { caller, answer, record } = await receiptOf({ pair, fields: { stream } })
        const { receipt, ...row } = record
        expect(row).toMatchObject({
          ...{ request_id: idOf(answer), account: caller.account, key: caller.keyId, model: `acme/${pair.upstream}` },
          ...{ channel: `speaks-${pair.upstream}`, protocol: pair.client, upstream_protocol: pair.upstream, stream },
          ...{ status: 'ok', ending: 'stop', source: 'upstream', cost: dollarsOf(costOf(tokens)) },
        })
        expectSound(record)
        // A vendor that counts its prompt first, and finds it longer than we did, makes a stream hold more.
        const held = costOf({ input: PROMPT, output: 500 })
        if (stream && pair.upstream === 'messages') expect(amountOf(receipt.hold.amount)).toBeGreaterThanOrEqual(held)
        else expect(amountOf(receipt.hold.amount)).toBe(held)
        expect(receipt.price).toEqual({
          ...{ input: '1.00', output: '4.00', cache_read: '0.10', cache_write: '1.25' },
          ...{ version: 1, since: expect.stringMatching(/^\d{4}-.*Z$/) },
        })
        expect(receipt.arithmetic.lines.map((line: JsonBody) => line.amount)).toEqual([
          ...['0.0003', '0.00006', '0.000125', '0.0002'],
        ])
        expect([receipt.arithmetic.sum, receipt.arithmetic.rounding]).toEqual(['0.000685', '0.00'])
      })
    }
  }

  for (const [tokens, rounding] of [
    [{ input: 1, output: 1 }, '0.000000000999'],
    [{ input: 3_334, output: 1_429, cacheRead: 10_001, cacheWrite: 2_001 }, '0.0000000009989'],
    [{ input: 5_000, output: 5_000, cacheRead: 5_000, cacheWrite: 5_000 }, '0.00'],
  ] as const) {
    test(`shows what the one rounding added: ${rounding}`, async () => {
      stage.answer = answering(tokens)
      const { record } = await receiptOf({ model: 'acme/crumbs' })
      expectSound(record)
      expect(record.receipt.arithmetic.rounding).toBe(rounding)
    })
  }

  test('shows reasoning as a part of the output, and a hold that was not enough', async () => {
    stage.answer = answering({ input: PROMPT, output: 900, reasoning: 850 }, { finish: 'length' })
    const { record } = await receiptOf({ fields: { max_tokens: 50 } })
    const { receipt } = record
    expect(receipt.tokens).toMatchObject({ output: 900, reasoning: 850 })
    expect(receipt.hold.returned).toBe(dollarsOf(-costOf({ input: 0, output: 850 })))
    expect(receipt.arithmetic.lines.at(-1)).toMatchObject({ class: 'output', tokens: 900, amount: '0.0036' })
    expectSound(record)
  })

  test('names the entry that charged it', async () => {
    stage.answer = answering({ input: 10, output: 20 })
    const { caller, record } = await receiptOf({})
    const { data } = (await stage.duet.admin('GET', `/api/accounts/${caller.account}/entries`)).body
    expect(record.receipt.entry).toEqual(data[0])
    expect(data[0]).toMatchObject({ kind: 'charge', source: record.request_id, amount: `-${record.cost}` })
  })

  test('says what was counted where the upstream counted nothing', async () => {
    stage.answer = saying({ text: 'x'.repeat(42), finish: 'stop' })
    const { record } = await receiptOf({ fields: { stream: true } })
    expect(record.receipt.tokens).toMatchObject({ input: PROMPT, output: 11, source: 'counted' })
    expectSound(record)
  })

  for (const stream of [false, true]) {
    test(`of a failure has a hold that came back whole, and no entry: ${stream ? 'streamed' : 'whole'}`, async () => {
      stage.answer = () => new Response('{}', { status: 503 })
      const { answer, record } = await receiptOf({ fields: { stream } })
      const { receipt, ...row } = record
      expect(answer.status).toBe(502)
      expect(row).toMatchObject({ status: 'upstream_error', ending: null, cost: '0.00', first_byte_ms: null })
      expect(receipt.hold.returned).toBe(receipt.hold.amount)
      expect(receipt.hold.amount).toBe(dollarsOf(costOf({ input: PROMPT, output: 500 })))
      expect(receipt.entry).toBeNull()
      expect(receipt.attempts).toMatchObject([{ channel: 'speaks-chat', protocol: 'chat', status: 'upstream_error' }])
      expectSound(record)
    })
  }

  test('of a client that left says so, and what was charged', async () => {
    const caller = await newCaller(stage.duet)
    stage.answer = visit => eventStream(unfinished(protocolOf(visit), { text: '~'.repeat(80) }), 'silence')
    const response = await fetch(stage.duet.url + CHAT, {
      method: 'POST',
      headers: { authorization: `Bearer ${caller.key}` },
      body: JSON.stringify({ model: 'acme/chat', messages: user(QUESTION), stream: true }),
    })
    await readUntil(response, text => text.split('~').length > 80)
    while ((await stage.usage(caller.account)).length === 0) await Bun.sleep(2)
    const record = await stage.receipt(idOf(response))
    expect(record).toMatchObject({ status: 'client_gone', ending: null, source: 'counted' })
    expect(record.receipt.tokens).toMatchObject({ input: PROMPT, output: 20 })
    expect(record.receipt.attempts).toMatchObject([{ status: 'client_gone' }])
    expectSound(record)
  })

  test('has timings that add up', async () => {
    stage.answer = async visit => {
      await Bun.sleep(20)
      return answering({ input: 1, output: 1 })(visit)
    }
    const before = Date.now()
    const { record } = await receiptOf({})
    const { timings, attempts } = record.receipt
    expect(Date.parse(timings.started_at)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(timings.ended_at)).toBe(Date.parse(timings.started_at) + timings.duration_ms)
    expect(Date.parse(timings.ended_at)).toBeLessThanOrEqual(Date.now())
    expect(timings.first_byte_ms).toBeGreaterThanOrEqual(20)
    expect(timings.duration_ms).toBeGreaterThanOrEqual(timings.first_byte_ms)
    const { first_byte_ms, duration_ms } = timings
    expect(attempts).toEqual([
      {
        ...{ channel: 'speaks-chat', key: '', protocol: 'chat', status: 'ok', error: null },
        ...{ start_ms: 0, first_byte_ms, duration_ms },
      },
    ])
  })

  test('of a request that was never made is 404', async () => {
    for (const id of ['a'.repeat(24), 'nonsense', '%27']) {
      const { status, body } = await stage.duet.admin('GET', `/api/usage/${id}`)
      expect([status, body.error.code]).toEqual([404, 'not_found'])
    }
  })
})

// ── the bill that callers see ───────────────────────────────────────────────────────────────────────────────────────

/** The usage that a caller is shown, whole or at the end of a stream. */
function usageOf({ client }: Pair, { text, body }: Answer): JsonBody {
  if (body) return body.usage
  const frames = framesOf(text)
  return client === 'chat'
    ? frames.at(-2)?.json.usage
    : frames.find(({ event }) => event === 'message_delta')?.json.usage
}

describe('what callers are told agrees with the receipt', () => {
  const TOKENS: Tokens = { input: 123, output: 45, cacheRead: 67, cacheWrite: 8, reasoning: 9 }
  const streaming = ({ client }: Pair) =>
    client === 'chat' ? { stream: true, stream_options: { include_usage: true } } : { stream: true }

  for (const pair of PAIRS) {
    test(`usage.cost in a body and in a stream: ${nameOf(pair)}`, async () => {
      stage.answer = answering(TOKENS)
      for (const fields of [{}, streaming(pair)]) {
        const { answer, record } = await receiptOf({ pair, fields })
        expect(usageOf(pair, answer).cost).toBe(record.cost)
        expect(record.cost).toBe(dollarsOf(costOf(TOKENS)))
      }
    })

    test(`x-duet-cost, x-duet-balance and x-duet-key-remaining of a whole answer: ${nameOf(pair)}`, async () => {
      stage.answer = answering(TOKENS)
      const { key, keyId, account } = await newCaller(stage.duet, { balance: '3.5', cap: '1.25' })
      const body = ask(pair.client, `acme/${pair.upstream}`, QUESTION)
      for (const times of [1n, 2n]) {
        const answer = await post(stage.duet, PATHS[pair.client], body, { key })
        const cost = costOf(TOKENS)
        const header = (name: string) => amountOf(answer.headers.get(`x-duet-${name}`) ?? '')
        expect(header('cost')).toBe(cost)
        expect(header('balance')).toBe(3_500_000_000n - times * cost)
        expect(header('key-remaining')).toBe(1_250_000_000n - times * cost)
        expect(header('balance')).toBe(await stage.balance(account))
        const { remaining } = (await stage.duet.admin('GET', `/api/keys/${keyId}`)).body
        expect(header('key-remaining')).toBe(amountOf(remaining))
        expect(header('cost')).toBe(amountOf((await stage.receipt(idOf(answer))).receipt.arithmetic.total))
      }
    })
  }

  test('a key without a cap has nothing remaining to tell', async () => {
    stage.answer = answering(TOKENS)
    const { answer } = await receiptOf({})
    expect(answer.headers.get('x-duet-cost')).not.toBeNull()
    expect(answer.headers.get('x-duet-key-remaining')).toBeNull()
  })

  test('a stream has no such headers: they leave before anyone knows', async () => {
    stage.answer = answering(TOKENS)
    const { answer } = await receiptOf({ fields: { stream: true } })
    for (const name of ['cost', 'balance', 'key-remaining']) expect(answer.headers.get(`x-duet-${name}`)).toBeNull()
  })

  test('a refusal or a failure has no bill', async () => {
    stage.answer = () => new Response('{}', { status: 500 })
    const { answer } = await receiptOf({})
    expect([answer.status, answer.headers.get('x-duet-cost')]).toEqual([502, null])
  })
})

// ── adjustments ─────────────────────────────────────────────────────────────────────────────────────────────────────

describe('POST /api/accounts/{id}/adjustments', () => {
  const adjust = (account: string, body: object) =>
    stage.duet.admin('POST', `/api/accounts/${account}/adjustments`, body)

  test('correct a balance up or down, and say why', async () => {
    const { account } = await newCaller(stage.duet, { balance: '5' })
    const down = await adjust(account, { amount: '-1.25', note: 'charged twice' })
    expect(down.status).toBe(201)
    expect(down.body).toMatchObject({
      ...{ id: '2', kind: 'adjustment', amount: '-1.25', balance: '3.75', key: null, note: 'charged twice' },
      account: { id: account, balance: '3.75', spent: '0.00' },
    })
    const up = await adjust(account, { amount: '0.000000001', note: 'a billionth was missing' })
    expect(up.body).toMatchObject({ id: '3', amount: '0.000000001', balance: '3.750000001' })
    expect((await stage.duet.admin('GET', '/api/ledger/verify')).body).toMatchObject({ ok: true })
  })

  test('may leave less than nothing, and then nothing more is served', async () => {
    const { account, key } = await newCaller(stage.duet, { balance: '1' })
    expect((await adjust(account, { amount: '-3', note: 'a fraud' })).body.balance).toBe('-2.00')
    const { status, body } = await post(stage.duet, CHAT, { model: 'acme/chat', messages: user(QUESTION) }, { key })
    expect([status, body.error.code]).toEqual([403, 'insufficient_user_quota'])
  })

  test('of the same source are applied once; a top-up of that source is another thing', async () => {
    const { account } = await newCaller(stage.duet, { balance: '1' })
    const body = { amount: '-0.5', note: 'ticket 7', source: 'ticket-7' }
    const first = await adjust(account, body)
    const again = await adjust(account, { ...body, amount: '-0.75' })
    expect([first.status, again.status]).toEqual([201, 200])
    expect(again.body).toEqual(first.body)
    const topUp = { amount: '2', source: 'ticket-7' }
    expect((await stage.duet.admin('POST', `/api/accounts/${account}/topups`, topUp)).status).toBe(201)
    expect(await stage.balance(account)).toBe(2_500_000_000n)
  })

  test('at once, of one source, are applied once', async () => {
    const { account } = await newCaller(stage.duet, { balance: '1' })
    const body = { amount: '1', note: 'ticket 8', source: 'ticket-8' }
    const answers = await Promise.all(Array.from({ length: 8 }, () => adjust(account, body)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201])
    expect(await stage.balance(account)).toBe(2_000_000_000n)
  })

  const FAULTS: readonly [param: string, body: object][] = [
    ['note', { amount: '1' }],
    ['note', { amount: '1', note: '' }],
    ['note', { amount: '1', note: '   ' }],
    ['note', { amount: '1', note: null }],
    ['note', { amount: '1', note: 'x'.repeat(1_001) }],
    ['amount', { note: 'why' }],
    ['amount', { amount: '0', note: 'why' }],
    ['amount', { amount: '0.0000000001', note: 'why' }],
    ['amount', { amount: 'much', note: 'why' }],
    ['source', { amount: '1', note: 'why', source: '' }],
    ['reason', { amount: '1', note: 'why', reason: 'because' }],
  ]
  for (const [param, body] of FAULTS) {
    test(`with a faulty ${param} are 422: ${JSON.stringify(body).slice(0, 50)}`, async () => {
      const { status, body: answer } = await adjust('default', body)
      expect([status, answer.error.code, answer.error.param]).toEqual([422, 'invalid_field', param])
    })
  }

  test('of an account that does not exist are 404', async () => {
    expect((await adjust('nobody', { amount: '1', note: 'why' })).status).toBe(404)
  })

  test('cannot make a balance that no ledger could hold, in either direction', async () => {
    for (const sign of ['', '-']) {
      const { account } = await newCaller(stage.duet, { balance: '1' })
      const statuses: number[] = []
      for (let times = 0; times < 12; times++) {
        statuses.push((await adjust(account, { amount: `${sign}1000000000`, note: 'too much' })).status)
      }
      expect(statuses.filter(status => status !== 201 && status !== 422)).toEqual([])
      expect(statuses.at(-1)).toBe(422)
    }
    expect((await stage.duet.admin('GET', '/api/ledger/verify')).body).toMatchObject({ ok: true })
  })
})
