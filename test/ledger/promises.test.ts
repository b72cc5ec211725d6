import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PAIRS, PATHS, type Pair, UNLIKE } from '../pairs/pairs.ts'
import { framesOf, saying } from '../pairs/wire.ts'
import { type Duet, startDuet } from '../support/duet.ts'
import { type Answer, CHAT, MESSAGES, post, send, user } from '../support/http.ts'
import { eventStream, scriptUpstream, type UpstreamVisit } from '../support/upstream.ts'
import { ask, eventually, expectError, idOf, newCaller } from '../support/wire.ts'
import {
  amountOf,
  answering,
  configOf,
  costOf,
  dollarsOf,
  gate,
  nameOf,
  PROMPT,
  QUESTION,
  readUntil,
  type Tokens,
  unfinished,
  used,
  useLedger,
} from './stage.ts'

/**
 * The promises of the ledger, by their names: whoever breaks one learns which. How much is held, streams that run
 * short, crashes, tampering and upgrades have files of their own beside this one.
 */

const stage = useLedger()

const call = (key: string, fields: object = {}, model = 'acme/chat'): Promise<Answer> =>
  post(stage.duet, CHAT, { model, messages: user(QUESTION), ...fields }, { key })

describe('1. Exact', () => {
  const CRUMBS: readonly Required<Omit<Tokens, 'reasoning'>>[] = [
    { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 },
    { input: 3_334, output: 1_429, cacheRead: 10_001, cacheWrite: 2_001 },
    { input: 5_000, output: 5_000, cacheRead: 5_000, cacheWrite: 5_000 },
    { input: 123_457, output: 54_321, cacheRead: 7, cacheWrite: 65_537 },
  ]
  /** Prices of `acme/crumbs`, in nano-dollars per million tokens. */
  const RATES = { input: 300n, output: 700n, cacheRead: 100n, cacheWrite: 500n } as const
  const roundedUp = (millionths: bigint) => (millionths + 999_999n) / 1_000_000n

  for (const tokens of CRUMBS) {
    const exact = Object.entries(RATES).map(([name, rate]) => BigInt(tokens[name as keyof typeof RATES]) * rate)
    const once = roundedUp(exact.reduce((sum, amount) => sum + amount, 0n))

    test(`a bill of ${Object.values(tokens).join(', ')} tokens is rounded once, upwards`, async () => {
      const { key, account } = await newCaller(stage.duet, { balance: '1' })
      stage.answer = answering(tokens)
      const { headers } = await call(key, {}, 'acme/crumbs')
      expect(amountOf(headers.get('x-duet-cost') ?? '')).toBe(once)
      expect(await stage.balance(account)).toBe(1_000_000_000n - once)
      // Otherwise this would not tell one rounding from four.
      expect(exact.map(roundedUp).reduce((sum, amount) => sum + amount, 0n)).toBeGreaterThan(once)
    })
  }

  test('a billionth of a dollar is taken from hundreds of millions without loss', async () => {
    const { key, account } = await newCaller(stage.duet, { balance: '876543210.987654321' })
    stage.answer = answering({ input: 1, output: 1 })
    expect((await call(key, {}, 'acme/crumbs')).headers.get('x-duet-balance')).toBe('876543210.98765432')
    expect(await stage.balance(account)).toBe(876_543_210_987_654_320n)
  })

  test('the balance is the sum of the entries at all times, and what a key has spent is the sum of its charges', async () => {
    const { account, ...first } = await newCaller(stage.duet, { balance: '1' })
    const { body: second } = await stage.duet.admin('POST', '/api/keys', { account, name: 'second' })
    stage.answer = visit =>
      visit.body.max_tokens % 7 === 0
        ? new Response('no', { status: 500 })
        : answering({ input: visit.body.max_tokens, output: 3 })(visit)

    const calls = Array.from({ length: 60 }, (_, i) =>
      call(i % 3 === 0 ? second.key : first.key, { max_tokens: i + 1, stream: i % 2 === 0 }),
    )
    const deposits = ['0.5', '0.000000001'].map(amount =>
      stage.duet.admin('POST', `/api/accounts/${account}/topups`, { amount }),
    )
    const done = Promise.all([...calls, ...deposits])
    for (let isDone = false; !isDone; ) {
      isDone = await Promise.race([done.then(() => true), Bun.sleep(1).then(() => false)])
      const { body } = await stage.duet.admin('GET', '/api/ledger/verify')
      expect({ ok: body.ok, problem: body.problem }).toEqual({ ok: true, problem: null })
    }

    const { data: entries } = (await stage.duet.admin('GET', `/api/accounts/${account}/entries?limit=500`)).body
    const sum = (of: { amount: string }[]) => of.reduce((total, { amount }) => total + amountOf(amount), 0n)
    expect(entries.filter(({ kind }: { kind: string }) => kind === 'charge').length).toBe(52)
    expect(await stage.balance(account)).toBe(sum(entries))
    for (const id of [first.keyId, second.id]) {
      const spent = amountOf((await stage.duet.admin('GET', `/api/keys/${id}`)).body.spent)
      expect(spent).toBe(-sum(entries.filter(({ key }: { key: string }) => key === id)))
      expect(spent).toBeGreaterThan(0n)
    }
  })
})

describe('2. Held before spent', () => {
  test('the hold is on the account and on the cap of the key, in one step', async () => {
    const one = costOf({ input: PROMPT, output: 300 })
    const { key, keyId, account } = await newCaller(stage.duet, { balance: '10', cap: dollarsOf(one) })
    const thinking = gate()
    stage.answer = async visit => {
      if (visit.body.max_tokens === 300) await thinking.opened
      return answering({ input: PROMPT, output: 300 })(visit)
    }
    const first = call(key, { max_tokens: 300 })
    while ((await stage.nanosHeld(account)) === 0n) await Bun.sleep(2)
    expect(await stage.nanosHeld(account)).toBe(one)
    const refused = await call(key, { max_tokens: 1 })
    expectError(refused, { status: 403, code: 'pre_consume_token_quota_failed' })
    expect(await stage.nanosHeld(account)).toBe(one)
    thinking.open()
    expect((await first).status).toBe(200)
    expect((await stage.duet.admin('GET', `/api/keys/${keyId}`)).body.remaining).toBe('0.00')
  })

  for (const limit of ['balance', 'cap'] as const) {
    for (const stream of [false, true]) {
      const how = stream ? 'streamed' : 'whole'
      test(`of 20 at once with a ${limit} for 5, 5 are admitted and 15 refused (${how})`, async () => {
        const five = dollarsOf(5n * costOf({ input: PROMPT, output: 50 }))
        const { key, account } = await newCaller(stage.duet, limit === 'cap' ? { cap: five } : { balance: five })
        const decided = gate()
        const [admitted, refused]: [UpstreamVisit[], number[]] = [[], []]
        const look = () => admitted.length + refused.length === 20 && decided.open()
        stage.answer = async visit => {
          admitted.push(visit)
          look()
          await decided.opened
          return answering({ input: PROMPT, output: 50 })(visit)
        }
        const calls = Array.from({ length: 20 }, async () => {
          const { status } = await call(key, { max_tokens: 50, stream })
          if (status !== 200) refused.push(status)
          look()
        })
        await Promise.all(calls)
        expect(refused).toEqual(Array(15).fill(403))
        expect(admitted).toHaveLength(5)
        const { body } = await stage.duet.admin('GET', `/api/accounts/${account}`)
        expect(amountOf(body.spent)).toBe(amountOf(five))
        if (limit === 'balance') expect(body.balance).toBe('0.00')
      })
    }
  }

  test('a refusal reaches no upstream, holds nothing, and is recorded as one that cost nothing', async () => {
    const { key, account } = await newCaller(stage.duet, { balance: '0.000001' })
    const before = stage.visits.length
    const answer = await call(key)
    expectError(answer, { status: 403 })
    expect(stage.visits.length).toBe(before)
    expect(await stage.nanosHeld(account)).toBe(0n)
    await eventually(
      () => stage.usage(account),
      rows => rows.length > 0,
    )
    const { receipt, ...row } = await stage.receipt(idOf(answer))
    expect(row).toMatchObject({ account, status: 'insufficient_user_quota', cost: '0.00', channel: '' })
    expect(receipt).toMatchObject({ hold: { amount: '0.00' }, price: null, entry: null, attempts: [] })
    expect(await stage.balance(account)).toBe(1_000n)
  })
})

describe('3. Charged before delivered', () => {
  for (const pair of PAIRS) {
    for (const stream of [false, true]) {
      test(`whoever has the last byte finds the charge: ${nameOf(pair)}, ${stream ? 'streamed' : 'whole'}`, async () => {
        const { key, account } = await newCaller(stage.duet)
        stage.answer = answering({ input: 5, output: 7 })
        const response = await fetch(stage.duet.url + PATHS[pair.client], {
          method: 'POST',
          headers: { authorization: `Bearer ${key}` },
          body: JSON.stringify(ask(pair.client, `acme/${pair.upstream}`, QUESTION, { stream })),
        })
        const isLast = (text: string) => (stream ? /data: \[DONE]|event: message_stop/ : /}\s*$/).test(text)
        await readUntil(response, isLast)
        const cost = costOf({ input: 5, output: 7 })
        expect(await stage.balance(account)).toBe(10_000_000_000n - cost)
        const { receipt, ...row } = await stage.receipt(idOf(response))
        expect(row).toMatchObject({ status: 'ok', cost: dollarsOf(cost) })
        expect(receipt.entry).toMatchObject({ kind: 'charge', amount: dollarsOf(-cost), source: row.request_id })
      })
    }
  }
})

describe('4. Nothing leaks', () => {
  interface WayOut {
    readonly answer: (visit: UpstreamVisit) => Response | Promise<Response>
    readonly stream?: boolean
    /** When the client hangs up: once the upstream has the question, or once half of the answer is there. */
    readonly leaves?: 'before' | 'during'
    /** Fields that a translation to the other protocol loses, and that the client will not do without. */
    readonly strictly?: object
    readonly status: string
  }

  const failing = (status: number) => () => new Response('{"error":{"message":"no"}}', { status })
  const halfOf = ({ path }: UpstreamVisit) =>
    unfinished(path.endsWith('/messages') ? 'messages' : 'chat', { text: 'Half of' })
  const silent = () => new Promise<Response>(() => {})

  const WAYS_OUT: Readonly<Record<string, WayOut>> = {
    'a whole answer': { answer: answering({ input: 1, output: 1 }), status: 'ok' },
    'a streamed answer': { answer: answering({ input: 1, output: 1 }), stream: true, status: 'ok' },
    'an upstream that fails': { answer: failing(500), status: 'upstream_error' },
    'an upstream that fails a stream': { answer: failing(503), stream: true, status: 'upstream_error' },
    'an upstream that wants fewer calls': { answer: failing(429), status: 'upstream_rate_limited' },
    'an upstream that refuses the request': { answer: failing(422), status: 'upstream_invalid_request' },
    'an upstream that refuses our credential': { answer: failing(401), status: 'upstream_auth_failed' },
    'an upstream that talks nonsense': { answer: () => new Response('nonsense'), status: 'upstream_error' },
    'a stream that is cut': { answer: visit => eventStream(halfOf(visit)), stream: true, status: 'upstream_error' },
    'a client that leaves before the answer': { answer: silent, leaves: 'before', status: 'client_gone' },
    'a client that leaves before the stream': { answer: silent, leaves: 'before', stream: true, status: 'client_gone' },
    'a client that leaves during the stream': {
      ...{ answer: visit => eventStream(halfOf(visit), 'silence'), stream: true },
      ...{ leaves: 'during', status: 'client_gone' },
    },
    'a client that wants no loss in translation': {
      ...{ answer: answering({ input: 1, output: 1 }), strictly: { seed: 7, top_k: 7 }, status: 'translation_lossy' },
    },
  }

  for (const [title, way] of Object.entries(WAYS_OUT)) {
    for (const pair of way.strictly ? UNLIKE : PAIRS) {
      test(`${title}: all is given back, and one record says why: ${nameOf(pair)}`, async () => {
        const { key, account, keyId } = await newCaller(stage.duet, { cap: '5' })
        await run(way, pair, key)
        const rows = await recorded(account)
        expect(rows).toMatchObject([{ status: way.status }])
        expect(await stage.nanosHeld(account)).toBe(0n)
        expect((await stage.duet.admin('GET', '/api/ledger/verify')).body).toMatchObject({ ok: true, open_holds: 0 })

        // What a key holds is not shown, but all that its cap leaves can be held again: the limit is not lowered.
        const { body } = await stage.duet.admin('GET', `/api/keys/${keyId}`)
        const tokens = Number((amountOf(body.remaining) - costOf({ input: PROMPT, output: 0 })) / 4_000n)
        stage.answer = answering({ input: 1, output: 1 })
        expect((await call(key, { max_tokens: tokens }, 'acme/roomy')).status).toBe(200)
        expect(stage.visit.body.max_tokens).toBe(tokens)
      })
    }
  }

  async function run({ answer, stream = false, leaves, strictly }: WayOut, pair: Pair, key: string): Promise<void> {
    const leaving = new AbortController()
    stage.answer = visit => {
      if (leaves === 'before') leaving.abort()
      return answer(visit)
    }
    const request = fetch(stage.duet.url + PATHS[pair.client], {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, ...(strictly && { 'x-duet-strict': 'true' }) },
      body: JSON.stringify(ask(pair.client, `acme/${pair.upstream}`, QUESTION, { stream, ...strictly })),
      signal: leaving.signal,
    })
    const response = await request.catch(() => undefined)
    if (response && leaves === 'during') await readUntil(response, text => text.includes('Half'))
    else await response?.text()
  }
})

describe('5. Settled by what was used', () => {
  const REPORTED = { input: 300, cacheRead: 600, cacheWrite: 100, output: 50, reasoning: 20 }
  const spentOn = async (pair: Pair, fields: object) => {
    const { key, account } = await newCaller(stage.duet)
    const body = ask(pair.client, `acme/${pair.upstream}`, QUESTION, fields)
    const answer = await post(stage.duet, PATHS[pair.client], body, { key })
    const [row] = await stage.usage(account)
    return { answer, row, cost: 10_000_000_000n - (await stage.balance(account)) }
  }

  for (const pair of PAIRS) {
    for (const stream of [false, true]) {
      const how = `${nameOf(pair)}, ${stream ? 'streamed' : 'whole'}`

      test(`the upstream's own numbers are charged, and the record says so: ${how}`, async () => {
        stage.answer = answering(REPORTED)
        const { row, cost } = await spentOn(pair, { stream })
        expect(cost).toBe(costOf(REPORTED))
        expect(row).toMatchObject({ source: 'upstream', ending: 'stop', status: 'ok', cost: dollarsOf(cost) })
        expect(row.tokens).toEqual({ input: 300, cache_read: 600, cache_write: 100, output: 50, reasoning: 20 })
      })

      test(`without them, what was relayed is counted, and the record says so: ${how}`, async () => {
        const text = 'x'.repeat(403)
        stage.answer = saying({ text, finish: 'stop' })
        const { row, cost } = await spentOn(pair, { stream })
        expect(row).toMatchObject({ source: 'counted', tokens: { input: PROMPT, output: 101 } })
        expect(cost).toBe(costOf({ input: PROMPT, output: 101 }))
      })

      test(`the text of an error is never billed: ${how}`, async () => {
        const refusal = JSON.stringify({ error: { message: 'x'.repeat(4_000) } })
        stage.answer = () => new Response(refusal, { status: 500 })
        const { row, cost } = await spentOn(pair, { stream })
        expect(cost).toBe(0n)
        expect(row).toMatchObject({ source: 'estimated', status: 'upstream_error', tokens: { input: 0, output: 0 } })
      })
    }

    test(`the text of an error inside a stream is not billed, what came before it is: ${nameOf(pair)}`, async () => {
      const error = { message: 'x'.repeat(4_000), type: 'server_error' }
      const failed =
        pair.upstream === 'chat'
          ? `data: ${JSON.stringify({ error })}\n\n`
          : `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`
      stage.answer = () => eventStream([...unfinished(pair.upstream, { text: 'y'.repeat(40) }), failed])
      const { row, cost } = await spentOn(pair, { stream: true })
      expect(row).toMatchObject({ source: 'counted', status: 'upstream_error', tokens: { input: PROMPT, output: 10 } })
      expect(cost).toBe(costOf({ input: PROMPT, output: 10 }))
    })
  }

  for (const client of ['chat', 'messages'] as const) {
    test(`counters that come with every chunk are overwritten, never added: ${client} client`, async () => {
      stage.answer = () => eventStream(countedChunks([10, 20, 30, 30]))
      const { row } = await spentOn({ client, upstream: 'chat' }, { stream: true })
      expect(row).toMatchObject({ source: 'upstream', tokens: { input: 7, output: 30 } })
    })

    test(`counters that a broken stream gave early are no less than what was relayed: ${client} client`, async () => {
      const frames = countedChunks([1]).slice(0, 2)
      const more = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'z'.repeat(4_000) } }] })}\n\n`
      stage.answer = () => eventStream([...frames, more])
      const { row } = await spentOn({ client, upstream: 'chat' }, { stream: true })
      expect(row).toMatchObject({ status: 'upstream_error', tokens: { input: 7 } })
      expect(row.tokens.output).toBeGreaterThanOrEqual(1_000)
    })
  }

  for (const pair of PAIRS) {
    test(`reasoning may cost more than was held: it is charged, and the next call is refused: ${nameOf(pair)}`, async () => {
      const held = costOf({ input: PROMPT, output: 12 })
      const { key, account } = await newCaller(stage.duet, { balance: dollarsOf(held) })
      stage.answer = answering({ input: PROMPT, output: 261, reasoning: 249 }, { finish: 'length' })
      const body = ask(pair.client, `acme/${pair.upstream}`, QUESTION, { max_tokens: 12 })
      const first = await post(stage.duet, PATHS[pair.client], body, { key })
      const excess = costOf({ input: 0, output: 249 })
      expect([first.status, await stage.balance(account)]).toEqual([200, -excess])
      const { receipt } = await stage.receipt(idOf(first))
      expect(amountOf(receipt.hold.returned)).toBe(-excess)

      const visits = stage.visits.length
      const next = await post(stage.duet, PATHS[pair.client], body, { key })
      expectError(next, {
        status: 403,
        code: 'insufficient_user_quota',
        message: '用户额度不足, 剩余额度: ＄0.000000',
      })
      expect(stage.visits.length).toBe(visits)
    })
  }
})

/** A chat stream that counts its output with every chunk. */
function countedChunks(counts: readonly number[]): string[] {
  const chunk = (fields: object) =>
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', ...fields })}\n\n`
  const counted = counts.map(output =>
    chunk({
      choices: [{ index: 0, delta: { content: 'word' }, finish_reason: null }],
      usage: used({ input: 7, output }).chat,
    }),
  )
  const start = chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] })
  const end = chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
  return [start, ...counted, end, 'data: [DONE]\n\n']
}

describe('6. A client that leaves still pays, once, for what was made for it', () => {
  for (const pair of PAIRS) {
    const body = ask(pair.client, `acme/${pair.upstream}`, QUESTION, { max_tokens: 5_000, stream: true })

    test(`in the middle of a stream: ${nameOf(pair)}`, async () => {
      const { key, account } = await newCaller(stage.duet)
      const { open: cancelled, opened: isCancelled } = gate()
      stage.answer = ({ signal }) => {
        signal.addEventListener('abort', cancelled)
        return eventStream(unfinished(pair.upstream, { text: '~'.repeat(400) }), 'silence')
      }
      const abort = new AbortController()
      const response = await fetch(stage.duet.url + PATHS[pair.client], {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify(body),
        signal: abort.signal,
      })
      await readUntil(response, text => text.split('~').length > 400)
      abort.abort()
      await isCancelled
      const rows = await recorded(account)
      const expected = costOf({ input: PROMPT, output: 100 })
      expect(rows).toMatchObject([{ status: 'client_gone', source: 'counted', cost: dollarsOf(expected) }])
      expect(await stage.balance(account)).toBe(10_000_000_000n - expected)
      expect(await charges(account)).toBe(1)
    })

    for (const stream of [false, true]) {
      test(`before the first byte, for the prompt: ${nameOf(pair)}, ${stream ? 'streamed' : 'whole'}`, async () => {
        const { key, account } = await newCaller(stage.duet)
        const { open: cancelled, opened: isCancelled } = gate()
        const abort = new AbortController()
        stage.answer = ({ signal }) => {
          signal.addEventListener('abort', cancelled)
          abort.abort()
          return new Promise(() => {})
        }
        const init = { key, signal: abort.signal }
        await post(stage.duet, PATHS[pair.client], { ...body, stream }, init).catch(() => {})
        await isCancelled
        const expected = costOf({ input: PROMPT, output: 0 })
        expect(await recorded(account)).toMatchObject([
          { status: 'client_gone', source: 'estimated', cost: dollarsOf(expected) },
        ])
        expect(await stage.balance(account)).toBe(10_000_000_000n - expected)
        expect(await charges(account)).toBe(1)
      })
    }
  }

  test('after the last token, before the end: for all of it', async () => {
    const { key, account } = await newCaller(stage.duet)
    const { frames, end } = split(
      framesOf('chat', { text: 'Done.', finish: 'stop', usage: used({ input: 5, output: 6 }) }),
    )
    const left = gate()
    stage.answer = ({ signal }) => {
      signal.addEventListener('abort', left.open)
      return eventStream([...frames, left.opened, end])
    }
    const abort = new AbortController()
    const response = await fetch(stage.duet.url + CHAT, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'acme/chat', messages: user(QUESTION), stream: true }),
      signal: abort.signal,
    })
    await readUntil(response, text => text.includes('Done.'))
    abort.abort()
    expect(await recorded(account)).toMatchObject([{ cost: dollarsOf(costOf({ input: 5, output: 6 })) }])
    expect(await charges(account)).toBe(1)
  })
})

const split = (frames: string[]) => ({ frames: frames.slice(0, -1), end: frames.at(-1) ?? '' })

/** The records of an account whose one call is being settled. */
async function recorded(account: string): Promise<unknown[]> {
  for (;;) {
    const rows = await stage.usage(account)
    if (rows.length > 0) return rows
    await Bun.sleep(5)
  }
}

async function charges(account: string): Promise<number> {
  const { body } = await stage.duet.admin('GET', `/api/accounts/${account}/entries`)
  return body.data.filter(({ kind }: { kind: string }) => kind === 'charge').length
}

describe('7. Unknown price means refusal', () => {
  test('a model without a price is listed as such', async () => {
    const { body } = await send(stage.duet, '/v1/models')
    const listed = body.data.find(({ id }: { id: string }) => id === 'acme/unpriced')
    expect(listed).toMatchObject({ pricing: null })
    const { body: models } = await stage.duet.admin('GET', '/api/models')
    const managed = models.data.find(({ id }: { id: string }) => id === 'acme/unpriced')
    expect(managed).toMatchObject({ price: null, channels: ['speaks-chat'] })
  })

  for (const path of [CHAT, MESSAGES]) {
    for (const stream of [false, true]) {
      test(`and refused, with nothing called, held or charged: ${path}${stream ? ', streamed' : ''}`, async () => {
        const { key, account } = await newCaller(stage.duet)
        const before = stage.visits.length
        const body = { model: 'acme/unpriced', messages: user(QUESTION), max_tokens: 10, stream }
        const answer = await post(stage.duet, path, body, { key })
        expect([answer.status, answer.body.error.code]).toEqual([503, 'model_price_unknown'])
        expect(answer.headers.get('x-should-retry')).toBe('false')
        expect(stage.visits.length).toBe(before)
        const { body: after } = await stage.duet.admin('GET', `/api/accounts/${account}`)
        expect(after).toMatchObject({ balance: '10.00', held: '0.00', spent: '0.00' })
        const [record, ...others] = await eventually(
          () => stage.usage(account),
          rows => rows.length > 0,
        )
        expect(others).toEqual([])
        expect(record).toMatchObject({ status: 'model_price_unknown', model: 'acme/unpriced', stream, cost: '0.00' })
      })
    }
  }
})

describe('8. Recomputable', () => {
  const PRICES = { first: '{ input: 1, output: 4 }', second: '{ input: 2.5, output: 10 }' }

  test('a charge keeps its tokens by class, the version of its price, and its rounding', async () => {
    const { key } = await newCaller(stage.duet)
    stage.answer = answering({ input: 3, output: 5, cacheRead: 7, cacheWrite: 11, reasoning: 2 })
    const { receipt } = await stage.receipt(idOf(await call(key, {}, 'acme/crumbs')))
    expect(receipt.tokens).toMatchObject({ input: 3, output: 5, cache_read: 7, cache_write: 11, reasoning: 2 })
    expect(receipt.price).toMatchObject({ version: 1, input: '0.0000003', output: '0.0000007' })
    // 3 x 300 + 7 x 100 + 11 x 500 + 5 x 700 millionths of a billionth, rounded up to one of them.
    expect(receipt.arithmetic).toMatchObject({
      sum: '0.0000000000106',
      rounding: '0.0000000009894',
      total: '0.000000001',
    })
  })

  test('a new price makes a new version; what was charged or begun before keeps its own', async () => {
    const thinking = gate()
    const upstream = scriptUpstream(async visit => {
      if (visit.body.max_tokens === 99) await thinking.opened
      return answering({ input: 1_000, output: 1_000 })(visit)
    })
    const duet = await startDuet({ config: configOf(upstream.base, PRICES.first) })
    const ask = (max_tokens: number) => post(duet, CHAT, { model: 'acme/chat', messages: user(QUESTION), max_tokens })
    const receiptOf = async (answer: Answer) => {
      const { receipt } = (await duet.admin('GET', `/api/usage/${idOf(answer)}`)).body
      return [receipt.price.version, receipt.price.output, receipt.arithmetic.total]
    }

    const before = await ask(1)
    const underWay = ask(99)
    while (upstream.requests.length < 2) await Bun.sleep(2)
    await reload(duet, configOf(upstream.base, PRICES.second))
    const after = await ask(1)
    thinking.open()
    expect(await receiptOf(before)).toEqual([1, '4.00', '0.005'])
    expect(await receiptOf(await underWay)).toEqual([1, '4.00', '0.005'])
    expect(await receiptOf(after)).toEqual([2, '10.00', '0.0125'])

    await reload(duet, configOf(upstream.base, PRICES.second))
    expect(await receiptOf(await ask(1))).toEqual([2, '10.00', '0.0125'])
    const { data } = (await duet.admin('GET', '/api/models')).body
    expect(data[0]).toMatchObject({ id: 'acme/chat', price: { version: 2, output: '10.00' } })

    await reload(duet, configOf(upstream.base, PRICES.first))
    expect(await receiptOf(await ask(1))).toEqual([3, '4.00', '0.005'])
    expect(await receiptOf(before)).toEqual([1, '4.00', '0.005'])
    const again = await restarted(duet)
    expect((await again.admin('GET', '/api/ledger/verify')).body).toMatchObject({ ok: true, charges: 5, unpriced: 0 })
    expect((await again.admin('GET', '/api/models')).body.data[0].price.version).toBe(3)
    await again.stop()
    await upstream.stop()
  })

  test('whoever keeps the hash of the last entry can tell that nothing before it was changed', async () => {
    const { key, account } = await newCaller(stage.duet)
    stage.answer = answering({ input: 1, output: 1 })
    const head = async () => (await stage.duet.admin('GET', '/api/ledger/verify')).body.heads[account]
    const entries = async () => (await stage.duet.admin('GET', `/api/accounts/${account}/entries`)).body.data
    const seen: string[] = []
    for (let calls = 0; calls < 3; calls++) {
      expect((await call(key)).status).toBe(200)
      const [last] = await entries()
      expect(await head()).toBe(last.hash)
      seen.unshift(last.hash)
    }
    expect((await entries()).slice(0, 3).map(({ hash }: { hash: string }) => hash)).toEqual(seen)
    expect(new Set(seen).size).toBe(3)
  })
})

async function reload(duet: Duet, config: string): Promise<void> {
  const times = () => duet.output().split('configuration read again').length
  const before = times()
  writeFileSync(join(duet.folder, 'duet.yaml'), config)
  process.kill(duet.pid, 'SIGHUP')
  while (times() === before) await Bun.sleep(5)
}

async function restarted(duet: Duet): Promise<Duet> {
  await duet.stop()
  // The file was changed since the first start, and must stay as it is now.
  return startDuet({ folder: duet.folder })
}
