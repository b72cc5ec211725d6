import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { bodyOf, framesOf as framesSaying, PLAIN_USAGE, type Said } from '../pairs/wire.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { type Answer, framesOf, post } from '../support/http.ts'
import { eventStream, type UpstreamVisit } from '../support/upstream.ts'
import { chatFrame, messagesFrame, protocolOf } from '../support/vendor.ts'
import {
  ask,
  type CallerFields,
  expectError,
  idOf,
  newCaller,
  type ProtocolName,
  PAIRS as SANDBOX,
} from '../support/wire.ts'
import {
  CEILING,
  capped,
  endOf,
  expectAllOf,
  expectLeft,
  expectWellFormed,
  LENGTH,
  scenesOn,
  seenIn,
  TOKEN,
  type Upstream,
} from './capped.ts'
import { DELTA_TOKENS, endless, going, type Matter, PIECE } from './endless.ts'
import {
  affordableTokens,
  booksOf,
  costOf,
  dollarsOf,
  expectSound,
  expectVerified,
  nameOf,
  nanosOf,
  pathOf,
  promptTokensIn,
  requestFor,
  STREAMED,
  settledBooks,
  useStage,
  WAYS,
  type Way,
  WHOLE,
} from './support.ts'

/** `x-duet-max-cost`: what one call costs at most, whatever its upstream does. */

const stage = useStage()
const { enter, play } = scenesOn(stage)

// ── answers without end ─────────────────────────────────────────────────────────────────────────────────────────────

const THINKING = { thinking: { type: 'enabled', budget_tokens: 1_024 } }
const TOOLS = {
  chat: { tools: [{ type: 'function', function: { name: 'write', parameters: { type: 'object' } } }] },
  messages: { tools: [{ name: 'write', input_schema: { type: 'object' } }] },
}

interface Endless {
  readonly title: string
  readonly matter: Matter
  readonly more?: (way: Way) => object
}

const ENDLESS: readonly Endless[] = [
  { title: 'a text without end', matter: 'text' },
  { title: 'arguments of a call without end', matter: 'arguments', more: ({ client }) => TOOLS[client] },
  {
    title: 'reasoning without end',
    matter: 'thinking',
    more: ({ client }) => (client === 'messages' ? THINKING : {}),
  },
  { title: 'reasoning without end that only counters tell of', matter: 'counters' },
]

for (const { title, matter, more } of ENDLESS) {
  describe(`${title} is cut at the ceiling, and its upstream told to stop`, () => {
    for (const way of WAYS) {
      test.concurrent(nameOf(way), async () => {
        const played = await play(way, { upstream: endless(matter), ceiling: CEILING, more: more?.(way) ?? {} })
        expectWellFormed(way, played.answer)
        expectAllOf(CEILING, way, played)
        const paid = played.row.tokens.output
        expect(seenIn(played.answer, PIECE) * DELTA_TOKENS).toBeLessThanOrEqual(paid + DELTA_TOKENS)
        if (matter === 'text') expect(seenIn(played.answer, PIECE) * DELTA_TOKENS).toBeGreaterThanOrEqual(paid)
        await expectLeft(played.visit)
      })
    }
  })
}

describe('reasoning without end that is not shown is cut all the same', () => {
  for (const way of WAYS.filter(({ client }) => client === 'messages')) {
    test.concurrent(nameOf(way), async () => {
      const played = await play(way, { upstream: endless('thinking'), ceiling: CEILING })
      expectWellFormed(way, played.answer)
      expectAllOf(CEILING, way, played)
      expect(seenIn(played.answer, PIECE)).toBe(0)
      await expectLeft(played.visit)
    })
  }
})

describe('an answer that says that it is over, and goes on, is cut all the same', () => {
  for (const way of WAYS.filter(({ upstream }) => upstream === 'chat')) {
    test.concurrent(nameOf(way), async () => {
      const early = chatFrame({ delta: { role: 'assistant', content: 'Well' }, finish_reason: 'stop' })
      const upstream = (visit: UpstreamVisit) => going(visit, [early], () => chatFrame({ delta: { content: PIECE } }))
      const played = await play(way, { upstream, ceiling: CEILING })
      expectAllOf(CEILING, way, played)
      await expectLeft(played.visit)
    })
  }
})

describe('what cannot be passed on yet is counted when it comes', () => {
  const nameless = chatFrame({ delta: { tool_calls: [{ index: 0, function: { arguments: PIECE } }] } })
  const open = (index: number) =>
    messagesFrame('content_block_start', { index, content_block: { type: 'text', text: '' } })
  const second = messagesFrame('content_block_delta', { index: 1, delta: { type: 'text_delta', text: PIECE } })
  const UPSTREAMS: Record<ProtocolName, Upstream> = {
    chat: visit => going(visit, [], () => nameless),
    messages: visit => going(visit, [open(0), open(1)], () => second),
  }
  for (const way of WAYS.filter(({ client, upstream }) => client !== upstream)) {
    test.concurrent(nameOf(way), async () => {
      const played = await play(way, { upstream: UPSTREAMS[way.upstream], ceiling: CEILING, more: TOOLS[way.client] })
      expectWellFormed(way, played.answer)
      expectAllOf(CEILING, way, played)
      await expectLeft(played.visit)
    })
  }
})

test.concurrent('several answers share one ceiling, whole or streamed', async () => {
  const ways = WAYS.filter(({ client, upstream }) => client === 'chat' && upstream === 'chat')
  for (const way of ways) {
    const upstream = (visit: UpstreamVisit) =>
      going(visit, [], count => chatFrame({ index: count % 2, delta: { content: PIECE } }))
    const { answer, row, visit } = await play(way, { upstream, ceiling: CEILING, more: { n: 2 } })
    const choices = way.stream ? framesOf(answer.text).flatMap(({ json }) => json?.choices ?? []) : answer.body.choices
    const ended = choices
      .filter(({ finish_reason }: JsonBody) => finish_reason)
      .toSorted((a: JsonBody, b: JsonBody) => a.index - b.index)
    expect(ended).toMatchObject([
      { index: 0, finish_reason: 'length' },
      { index: 1, finish_reason: 'length' },
    ])
    expect(nanosOf(row.cost)).toBeLessThanOrEqual(CEILING)
    expect(nanosOf(row.cost)).toBeGreaterThan(CEILING - TOKEN)
    expect(visit.body.max_tokens).toBe(Math.floor(row.tokens.output / 2))
  }
})

// ── answers that end by themselves ──────────────────────────────────────────────────────────────────────────────────

const saying =
  (said: Said): Upstream =>
  visit =>
    eventStream(framesSaying(protocolOf(visit), said))

/** Seven tokens of text, and thousands that nobody has seen. */
const MUCH: Said['usage'] = {
  chat: { prompt_tokens: 12, completion_tokens: 9_000, total_tokens: 9_012 },
  messages: { input_tokens: 12, output_tokens: 9_000 },
}

describe('a final count above the ceiling is not charged above it', () => {
  for (const way of WAYS) {
    test.concurrent(nameOf(way), async () => {
      const upstream = saying({ text: 'Good morning.', finish: 'stop', usage: MUCH })
      const { answer, row } = await play(way, { upstream, ceiling: CEILING })
      expect(endOf(way, answer)).toEqual({ finish: way.client === 'chat' ? 'stop' : 'end_turn', cost: row.cost })
      expect(answer.text).toContain('Good morn')
      const tokens = { input: 12, output: affordableTokens(CEILING - costOf({ input: 12 })) }
      expect(row).toMatchObject({ status: 'ok', ending: 'ceiling', source: 'counted', tokens })
      expect(nanosOf(row.cost)).toBe(costOf(tokens))
    })
  }
})

test.concurrent('a prompt that the upstream counts to more than the ceiling is not charged above it either', async () => {
  for (const way of WAYS) {
    const usage = {
      chat: { prompt_tokens: 50_000, completion_tokens: 5, total_tokens: 50_005 },
      messages: { input_tokens: 50_000, output_tokens: 5 },
    }
    const upstream = saying({ text: 'Good morning.', finish: 'stop', usage })
    const { row } = await play(way, { upstream, ceiling: CEILING })
    expect(row).toMatchObject({ status: 'ok', ending: 'ceiling', source: 'counted', tokens: { output: 0 } })
    expect(nanosOf(row.cost)).toBeLessThanOrEqual(CEILING)
    expect(nanosOf(row.cost)).toBeGreaterThan(CEILING - costOf({ input: 1 }))
  }
})

describe('the upstream is told how far the ceiling goes, and always asked for a stream that counts', () => {
  for (const way of WAYS) {
    test.concurrent(nameOf(way), async () => {
      const upstream = saying({ text: 'Good morning.', finish: 'length', usage: PLAIN_USAGE })
      const { row, request, visit } = await play(way, { upstream, ceiling: CEILING, more: { vendors_own: { a: [1] } } })
      const told = affordableTokens(CEILING - costOf({ input: promptTokensIn(request) }))
      expect(visit.body.max_tokens).toBe(told)
      expect(visit.body.stream).toBe(true)
      if (way.upstream === 'chat') expect(visit.body.stream_options).toEqual({ include_usage: true })
      if (way.upstream === way.client) expect(visit.text).toContain('"vendors_own":{"a":[1]}')
      // It ended at a limit that was not the caller's own.
      expect(row).toMatchObject({ status: 'ok', ending: 'ceiling', source: 'upstream' })
    })
  }
})

describe('a ceiling that is not reached changes nothing', () => {
  const CALL = { id: 'call_1', name: 'write', arguments: '{"big":12345678901234567890,"text":"x"}' }
  const ANSWERS: readonly (readonly [title: string, said: Said, more: (way: Way) => object])[] = [
    ['a text', { text: 'Good morning.', finish: 'stop', usage: PLAIN_USAGE }, () => ({})],
    ['a text without counts', { text: 'Good morning.', finish: 'stop' }, () => ({})],
    [
      'reasoning and calls',
      { reasoning: 'Hm.', calls: [CALL, { ...CALL, id: 'call_2' }], finish: 'tool_calls', usage: PLAIN_USAGE },
      ({ client }) => ({ ...TOOLS[client], ...(client === 'messages' ? THINKING : {}) }),
    ],
    [
      'JSON',
      { text: 'Here: {"a":1}', finish: 'stop', usage: PLAIN_USAGE },
      ({ client }) => (client === 'chat' ? { response_format: { type: 'json_object' } } : {}),
    ],
  ]

  /** What differs from call to call. */
  const comparable = ({ text }: Answer) =>
    text.replace(/"(id|created)":("(chatcmpl-)?[0-9a-f]{32}"|\d+)/g, '"$1":0').replace(/"cost":"[^"]*"/g, '"cost":0')

  const normalized = (way: Way, answer: Answer): JsonBody => {
    if (way.stream) return comparable(answer)
    const body = JSON.parse(comparable(answer))
    // Vendors leave these out of whole answers, or not.
    for (const { message } of body.choices ?? []) message.refusal ??= null
    return body
  }

  for (const [title, said, more] of ANSWERS) {
    test.concurrent(title, async () => {
      for (const way of WAYS) {
        const upstream: Upstream = visit => {
          const protocol = protocolOf(visit)
          return visit.body.stream
            ? eventStream(framesSaying(protocol, said))
            : new Response(bodyOf(protocol, said), { headers: { 'content-type': 'application/json' } })
        }
        const free = await play(way, { upstream, more: more(way) })
        const withCeiling = await play(way, { upstream, more: more(way), ceiling: 100_000_000n })
        expect(normalized(way, withCeiling.answer), nameOf(way)).toEqual(normalized(way, free.answer))
        const { status, ending, tokens, source, stream } = free.row
        expect(withCeiling.row, nameOf(way)).toMatchObject({ status, ending, tokens, source, stream })
      }
    })
  }

  test.concurrent('not even for an upstream that answers with a whole body although a stream was asked for', async () => {
    for (const way of WAYS) {
      const said: Said = { text: 'Good morning.', finish: 'stop', usage: PLAIN_USAGE }
      const upstream: Upstream = visit => new Response(bodyOf(protocolOf(visit), said))
      const { answer, row } = await play(way, { upstream, ceiling: CEILING })
      expectWellFormed(way, answer)
      expect(row).toMatchObject({ status: 'ok', ending: 'stop', source: 'upstream', tokens: { output: 7 } })
    }
  })
})

describe('a signature, which only its vendor can make, survives in a whole answer', () => {
  for (const way of WHOLE.filter(({ client, upstream }) => client === 'messages' && upstream === 'messages')) {
    test.concurrent(nameOf(way), async () => {
      const upstream = saying({ reasoning: 'Hm.', text: 'Good morning.', finish: 'stop', usage: PLAIN_USAGE })
      const { answer } = await play(way, { upstream, ceiling: CEILING, more: THINKING })
      expect(answer.body.content).toMatchObject([
        { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmVk' },
        { type: 'text', text: 'Good morning.' },
      ])
    })
  }
})

test.concurrent('thinking that no longer fits below the limit gets less room, or none', async () => {
  const way = { client: 'messages', upstream: 'messages', stream: true } as const
  const upstream = saying({ text: 'Good morning.', finish: 'stop', usage: PLAIN_USAGE })
  const more = { max_tokens: 8_000, thinking: { type: 'enabled', budget_tokens: 4_000, vendors: 1 } }
  const roomy = await play(way, { upstream, more, ceiling: costOf({ output: 2_000 }) })
  const { max_tokens, thinking } = roomy.visit.body
  expect(thinking).toEqual({ type: 'enabled', budget_tokens: max_tokens - 1, vendors: 1 })
  expect(roomy.answer.headers.get('x-duet-dropped')).toBeNull()
  const narrow = await play(way, { upstream, more, ceiling: costOf({ output: 1_000 }) })
  expect(narrow.visit.body.thinking).toBeUndefined()
  expect(narrow.answer.headers.get('x-duet-dropped')).toBe('thinking')
})

// ── failures ────────────────────────────────────────────────────────────────────────────────────────────────────────

describe('a whole answer that breaks off is a failure with its status, and costs nothing', () => {
  for (const way of WHOLE) {
    test.concurrent(nameOf(way), async () => {
      const upstream: Upstream = visit => {
        const frames = framesSaying(protocolOf(visit), { text: 'Good morning.', finish: 'stop' })
        return eventStream(frames.slice(0, 3), 'close')
      }
      const { request } = enter(way, { upstream })
      const answer = await post(stage.duet, pathOf(way), request, { headers: capped(CEILING) })
      expectError(answer, { status: 502, code: 'upstream_error', protocol: way.client })
      const { body } = await stage.duet.admin('GET', `/api/usage/${idOf(answer)}`)
      expect(body).toMatchObject({ status: 'upstream_error', cost: '0.00' })
    })
  }
})

describe('a caller who leaves a whole answer pays for what was made of it, and no more than the ceiling', () => {
  for (const way of WHOLE) {
    test.concurrent(nameOf(way), async () => {
      const { account, key } = await newCaller(stage.duet)
      const { promise: isUnderWay, resolve } = Promise.withResolvers<void>()
      const upstream: Upstream = visit => {
        const frames = framesSaying(protocolOf(visit), { text: PIECE.repeat(20), finish: 'stop' })
        const text = frames.slice(0, -3)
        return eventStream([...text, resolve], 'silence')
      }
      const { request } = enter(way, { upstream })
      const abort = new AbortController()
      const headers = { authorization: `Bearer ${key}`, ...capped(CEILING) }
      const body = JSON.stringify(request)
      const asked = fetch(stage.duet.url + pathOf(way), { method: 'POST', headers, body, signal: abort.signal })
      await isUnderWay
      // A process that has answered others meanwhile has read what was there before.
      for (let turn = 0; turn < 3; turn++) await fetch(`${stage.duet.url}/health/live`)
      abort.abort()
      await asked.catch(() => {})
      const books = await settledBooks(stage.duet, account, 1)
      expectSound(books)
      const [row] = books.rows
      expect(row).toMatchObject({ status: 'client_gone', source: 'counted' })
      expect(row?.tokens.output).toBeGreaterThan(100)
      expect(nanosOf(row?.cost ?? '')).toBeLessThanOrEqual(CEILING)
    })
  }
})

describe('what is no amount, or none above zero, is refused before anything is held', () => {
  const WRONG = ['', 'a lot', '0', '0.00', '-1', '$5', '1e-3', '0,05', '0.05, 0.1', '0.0000000001', '99999999999']
  for (const given of WRONG) {
    test.concurrent(`"${given}"`, async () => {
      // Nothing on the account: it is not the money that is looked at first.
      const { key } = await newCaller(stage.duet, { balance: '0' })
      for (const way of STREAMED) {
        const request = requestFor(way, 'Hello')
        const answer = await post(stage.duet, pathOf(way), request, { key, headers: { 'x-duet-max-cost': given } })
        expectError(answer, {
          ...{ status: 400, code: 'invalid_request', type: 'invalid_request_error', param: 'x-duet-max-cost' },
          protocol: way.client,
        })
      }
    })
  }

  test.concurrent('but what is wrong with the request comes first', async () => {
    const way = STREAMED[0] as Way
    const request = requestFor(way, 'Hello', { temperature: 'high' })
    const answer = await post(stage.duet, pathOf(way), request, { headers: { 'x-duet-max-cost': 'much' } })
    expectError(answer, { status: 400, param: 'temperature' })
  })
})

test.concurrent('a ceiling that does not pay for the prompt and one token is refused, before the money is looked at', async () => {
  const { key } = await newCaller(stage.duet, { balance: '0' })
  for (const way of WAYS) {
    const { request } = enter(way, { upstream: saying({ text: 'Hi', finish: 'stop' }) })
    const least = costOf({ input: promptTokensIn(request), output: 1 })
    const answer = await post(stage.duet, pathOf(way), request, { key, headers: capped(least - 1n) })
    expectError(answer, { status: 400, code: 'max_cost_too_low', param: 'x-duet-max-cost', protocol: way.client })
    const enough = await post(stage.duet, pathOf(way), request, { headers: capped(least) })
    expect(enough.status).toBe(200)
  }
})

test.concurrent('a ceiling below what is worth starting is enough of a balance, too', async () => {
  for (const way of WAYS) {
    const { request, visited } = enter(way, { upstream: endless('text') })
    const ceiling = costOf({ input: promptTokensIn(request), output: 30 })
    const { account, key } = await newCaller(stage.duet, { balance: dollarsOf(ceiling) })
    expectError(await post(stage.duet, pathOf(way), request, { key }), { status: 403 })
    const answer = await post(stage.duet, pathOf(way), request, { key, headers: capped(ceiling) })
    expect(endOf(way, answer).finish).toBe(LENGTH[way.client])
    expect((await visited).body.max_tokens).toBe(30)
    expect((await booksOf(stage.duet, account)).rows[0]).toMatchObject({ status: 'ok', ending: 'ceiling' })
  }
})

// ── money that runs out ─────────────────────────────────────────────────────────────────────────────────────────────

describe('reasoning that goes beyond what is asked for ends where the money does', () => {
  const LIMIT = 300
  const money = (request: JsonBody) => costOf({ input: promptTokensIn(request), output: LIMIT })
  const PURSES: readonly (readonly [name: string, fields: (amount: string) => CallerFields])[] = [
    ['the balance of an account', balance => ({ balance })],
    ['the cap of a key', cap => ({ cap })],
  ]
  for (const [name, fields] of PURSES) {
    for (const matter of ['thinking', 'counters'] as const) {
      for (const way of STREAMED) {
        test.concurrent(`${name}, ${matter}: ${nameOf(way)}`, async () => {
          const { request, visited } = enter(way, { upstream: endless(matter), more: { max_tokens: LIMIT } })
          const amount = money(request)
          const { account, key } = await newCaller(stage.duet, fields(dollarsOf(amount)))
          const answer = await post(stage.duet, pathOf(way), request, { key })
          expectWellFormed(way, answer)
          const books = await booksOf(stage.duet, account)
          expectSound(books)
          const [row] = books.rows
          expect(row).toMatchObject({ status: 'ok', ending: 'funds', source: 'counted' })
          expect(endOf(way, answer)).toEqual({ finish: LENGTH[way.client], cost: row?.cost ?? '' })
          expect(nanosOf(row?.cost ?? '')).toBeLessThanOrEqual(amount)
          expect(nanosOf(row?.cost ?? '')).toBeGreaterThan(amount - TOKEN)
          expect(seenIn(answer, PIECE) * DELTA_TOKENS).toBeLessThanOrEqual((row?.tokens.output ?? 0) + DELTA_TOKENS)
          await expectLeft(await visited)
        })
      }
    }
  }

  test.concurrent('and before a ceiling that is higher', async () => {
    for (const way of WAYS) {
      const { request } = enter(way, { upstream: endless('thinking'), more: { max_tokens: LIMIT } })
      const amount = money(request)
      const { account, key } = await newCaller(stage.duet, { balance: dollarsOf(amount) })
      const answer = await post(stage.duet, pathOf(way), request, { key, headers: capped(amount * 10n) })
      expect(endOf(way, answer).finish).toBe(LENGTH[way.client])
      const { rows } = await booksOf(stage.duet, account)
      expect(rows).toMatchObject([{ status: 'ok', ending: 'funds' }])
      expect(nanosOf(rows[0]?.cost ?? '')).toBeLessThanOrEqual(amount)
    }
  })
})

// ── models that think ───────────────────────────────────────────────────────────────────────────────────────────────

let sandboxed: Duet | undefined
beforeAll(async () => {
  sandboxed = await startDuet()
})
afterAll(async () => {
  await sandboxed?.stop()
})

describe('models of the sandbox, which think beyond every limit, stay below the ceiling', () => {
  const ASKED = { counted: 'Tell me about Rome. [[tokens 400]]', 'not counted': 'Rome? [[tokens 400]] [[no-usage]]' }

  async function expectBelow(duet: Duet, { protocol, path, thinker, content, stream }: Thinker): Promise<void> {
    const request = ask(protocol, thinker, content, { stream })
    const free = await post(duet, path, request)
    const { body: asked } = await duet.admin('GET', `/api/usage/${idOf(free)}`)
    const ceiling = nanosOf(asked.cost) / 2n
    const answer = await post(duet, path, request, { headers: capped(ceiling) })
    const { body: row } = await duet.admin('GET', `/api/usage/${idOf(answer)}`)
    expect(row).toMatchObject({ status: 'ok', ending: 'ceiling', stream })
    expect(nanosOf(row.cost)).toBeLessThanOrEqual(ceiling)
    expect(endOf({ client: protocol, stream }, answer).finish).toBe(LENGTH[protocol])
  }

  for (const pair of SANDBOX) {
    for (const [name, content] of Object.entries(ASKED)) {
      for (const stream of [false, true]) {
        test.concurrent(`${pair.title}, ${name}, ${stream ? 'streamed' : 'whole'}`, async () => {
          if (!sandboxed) throw new Error('Duet has not started')
          await expectBelow(sandboxed, { ...pair, content, stream })
        })
      }
    }
  }
})

interface Thinker {
  readonly protocol: ProtocolName
  readonly path: string
  readonly thinker: string
  readonly content: string
  readonly stream: boolean
}

test('after all of these the books add up', async () => {
  await expectVerified(stage.duet)
  if (sandboxed) await expectVerified(sandboxed)
})
