import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { bodyOf } from '../pairs/wire.ts'
import { type Duet, startDuet } from '../support/duet.ts'
import { CHAT, MESSAGES, post, user } from '../support/http.ts'
import { storedBytes } from '../support/stored.ts'
import { openTablesOf } from '../support/stores.ts'
import { eventStream, type ScriptedUpstream } from '../support/upstream.ts'
import { protocolOf } from '../support/vendor.ts'
import { brokenEnd, type Caller, eventually, expectError, idOf, newCaller } from '../support/wire.ts'
import { expectBilled } from './bills.ts'
import { canLimit, startLimited } from './limited.ts'
import { answers, answersLate, expectFirst, expectReplay, NamedScene, namedUpstream } from './named-scene.ts'
import { ANSWER, errorFrame, framesWith, openingFrames, REPORTED, relayed, TEXT } from './said.ts'
import {
  admittedIn,
  booksOf,
  chargesIn,
  costOf,
  expectSound,
  expectVerified,
  nameOf,
  nanosOf,
  refusedIn,
  STREAMED,
  settledBooks,
  stageConfig,
  WAYS,
  type Way,
  WHOLE,
} from './support.ts'

/** A request header `idempotency-key`: whoever asks again gets the same answer, and nobody pays twice. */

let upstream: ScriptedUpstream
let duet: Duet
beforeAll(async () => {
  upstream = namedUpstream()
  duet = await startDuet({ config: configFor(upstream) })
})
afterAll(async () => {
  await duet.stop()
  await upstream.stop()
})

/** Enough for answers that are too large to be kept. */
const configFor = ({ base }: ScriptedUpstream): string => stageConfig(base, ', max_output_tokens: 100000000')

const PAID = { status: 'ok', ending: 'stop', source: 'upstream', tokens: REPORTED } as const

const CONFLICT = { status: 409, code: 'idempotency_conflict', type: 'invalid_request_error' } as const
const USED = 'This idempotency-key was used for another request'
const NOT_KEPT = { ...CONFLICT, code: 'idempotency_not_kept' } as const

const [SOME_WHOLE] = WHOLE as [Way, ...Way[]]
const [SOME_STREAM] = STREAMED as [Way, ...Way[]]

const expectPaidOnce = async (at: Duet, { account }: Caller): Promise<void> =>
  expectBilled(await settledBooks(at, account, 1), PAID)

/** So many turns are under way: all that were asked have come in, and had the time to find each other. */
async function underWay(turns: number): Promise<void> {
  const inside = async () => {
    const text = await (await fetch(`${duet.url}/metrics`)).text()
    return Number(/^duet_inflight_requests (\d+)$/m.exec(text)?.[1])
  }
  expect(await eventually(inside, found => found === turns)).toBe(turns)
  await Bun.sleep(10)
}

const visited = (scene: NamedScene, times = 1): Promise<number> =>
  eventually(
    () => scene.visits.length,
    visits => visits >= times,
  )

describe('the repeat of a finished call is given the same bytes, and costs nothing', () => {
  for (const way of WAYS) {
    test(nameOf(way), async () => {
      const caller = await newCaller(duet)
      const scene = new NamedScene(way)
      const first = await scene.ask(duet, caller).readAll()
      expectFirst(first)
      expectReplay(await scene.ask(duet, caller).readAll(), first)
      expectReplay(await scene.ask(duet, caller).readAll(), first)
      expect(scene.visits).toHaveLength(1)
      await expectPaidOnce(duet, caller)
    })
  }
})

describe('the repeat of a running call attaches to it, from its beginning', () => {
  for (const way of WAYS) {
    test(nameOf(way), async () => {
      const caller = await newCaller(duet)
      const scene = new NamedScene(way, answersLate)
      const first = scene.ask(duet, caller)
      await visited(scene)
      if (way.stream) expect(await first.readUntil(TEXT)).toBe(true)
      const repeat = scene.ask(duet, caller)
      if (way.stream) expect(await repeat.readUntil(TEXT)).toBe(true)
      await underWay(2)
      scene.goOn()
      expectFirst(await first.readAll())
      expectReplay(await repeat.readAll(), await first.readAll())
      expect(scene.visits).toHaveLength(1)
      await expectPaidOnce(duet, caller)
    })
  }
})

describe('of twenty at once one is made, and all get its answer', () => {
  for (const way of [SOME_WHOLE, SOME_STREAM]) {
    test(nameOf(way), async () => {
      const caller = await newCaller(duet)
      const scene = new NamedScene(way, answersLate)
      const all = Array.from({ length: 20 }, () => scene.ask(duet, caller))
      await visited(scene)
      scene.goOn()
      const heard = await Promise.all(all.map(listener => listener.readAll()))
      const isReplay = heard.map(({ headers }) => headers.has('x-duet-replay-of'))
      expect(isReplay.filter(is => !is)).toHaveLength(1)
      const first = heard[isReplay.indexOf(false)]
      for (const [place, answer] of heard.entries()) if (first && isReplay[place]) expectReplay(answer, first)
      expect(scene.visits).toHaveLength(1)
      await expectPaidOnce(duet, caller)
    })
  }
})

describe('a caller who leaves and comes back gets all of the answer', () => {
  for (const way of WAYS) {
    test(nameOf(way), async () => {
      const caller = await newCaller(duet)
      const scene = new NamedScene(way, answersLate)
      const first = scene.ask(duet, caller)
      await visited(scene)
      if (way.stream) await first.readUntil(TEXT)
      first.leave()
      const back = scene.ask(duet, caller)
      if (way.stream) await back.readUntil(TEXT)
      await underWay(2)
      scene.goOn()
      const { status, text } = await back.readAll()
      expect([status, text.includes('"cost"')]).toEqual([200, true])
      expect(scene.visits).toHaveLength(1)
      expect(scene.visits[0]?.signal.aborted).toBe(false)
      await expectPaidOnce(duet, caller)
    })
  }
})

test('a caller who will wait no longer is told so, and finds the call again', async () => {
  const caller = await newCaller(duet)
  const scene = new NamedScene(SOME_WHOLE, answersLate)
  const impatient = scene.ask(duet, caller, { headers: { 'x-stainless-timeout': '1' } })
  expectError(await impatient.readAll(), { status: 504, code: 'upstream_timeout' })
  const back = scene.ask(duet, caller)
  await underWay(2)
  scene.goOn()
  const { status, headers } = await back.readAll()
  expect([status, headers.has('x-duet-replay-of'), scene.visits.length]).toEqual([200, true, 1])
  await expectPaidOnce(duet, caller)
})

test('a call that everybody has left goes on to its end', async () => {
  const caller = await newCaller(duet)
  const scene = new NamedScene(SOME_STREAM, answersLate)
  const listeners = [scene.ask(duet, caller), scene.ask(duet, caller)]
  for (const listener of listeners) expect(await listener.readUntil(TEXT)).toBe(true)
  for (const listener of listeners) listener.leave()
  // Nothing tells that the gateway has noticed; if it has not, the test shows less, and fails no sooner.
  await Bun.sleep(50)
  scene.goOn()
  await expectPaidOnce(duet, caller)
  const { status, headers, text } = await scene.ask(duet, caller).readAll()
  expect([status, headers.has('x-duet-replay-of'), text.includes('"cost"')]).toEqual([200, true, true])
  expect(scene.visits).toHaveLength(1)
})

describe('a failure is given to all who wait for it, and then forgotten', () => {
  for (const way of WAYS) {
    test(`${nameOf(way)}: before the first byte`, async () => {
      const caller = await newCaller(duet)
      const scene = new NamedScene(way, (visit, { visits, mayGoOn }) =>
        visits.length === 1 ? mayGoOn.then(() => new Response('out of order', { status: 500 })) : answers(visit, scene),
      )
      const waiting = [scene.ask(duet, caller), scene.ask(duet, caller)]
      await visited(scene)
      await underWay(2)
      scene.goOn()
      for (const listener of waiting) expectError(await listener.readAll(), { status: 502, code: 'upstream_error' })
      const second = await scene.ask(duet, caller).readAll()
      expectFirst(second)
      expectReplay(await scene.ask(duet, caller).readAll(), second)
      expect(scene.visits).toHaveLength(2)
      const books = await settledBooks(duet, caller.account, 2)
      expectSound(books)
      expect(chargesIn(books)).toHaveLength(1)
      expect(admittedIn(books).map(({ status }) => status)).toEqual(['ok', 'upstream_error'])
    })
  }

  for (const way of STREAMED) {
    test(`${nameOf(way)}: after the first byte`, async () => {
      const caller = await newCaller(duet)
      const scene = new NamedScene(way, (visit, { visits, mayGoOn }) => {
        const protocol = protocolOf(visit)
        if (visits.length > 1) return answers(visit, scene)
        return eventStream([...openingFrames(protocol), mayGoOn, errorFrame(protocol)])
      })
      const waiting = [scene.ask(duet, caller), scene.ask(duet, caller)]
      for (const listener of waiting) expect(await listener.readUntil(TEXT)).toBe(true)
      scene.goOn()
      const [broken, same] = await Promise.all(waiting.map(listener => listener.readAll()))
      expect(brokenEnd(way.client, broken?.text ?? '')?.code).toBe('upstream_error')
      expect(same?.text).toBe(broken?.text ?? '')
      const second = await scene.ask(duet, caller).readAll()
      expectFirst(second)
      expectReplay(await scene.ask(duet, caller).readAll(), second)
      const books = await settledBooks(duet, caller.account, 2)
      expectSound(books)
      const [ok, failed] = admittedIn(books)
      expect([ok?.status, ok?.tokens, failed?.status]).toMatchObject(['ok', REPORTED, 'upstream_error'])
      expect(failed?.tokens).toMatchObject(relayed('upstream_error', way, scene.request).tokens)
    })
  }

  test('a request that is refused may be repeated when there is money for it', async () => {
    const caller = await newCaller(duet, { balance: '0' })
    const scene = new NamedScene(SOME_WHOLE)
    const refused = { status: 403, code: 'insufficient_user_quota' }
    expectError(await scene.ask(duet, caller).readAll(), refused)
    await duet.admin('POST', `/api/accounts/${caller.account}/topups`, { amount: '1', source: 'repeats' })
    expectFirst(await scene.ask(duet, caller).readAll())
  })
})

describe('the same name for something else is refused', () => {
  test('while the call runs, and when it is over; nothing is asked or paid, and there is a record', async () => {
    for (const way of [SOME_WHOLE, SOME_STREAM]) {
      const caller = await newCaller(duet)
      const scene = new NamedScene(way, answersLate)
      const other = { ...scene.request, max_tokens: 999 }
      const first = scene.ask(duet, caller)
      await visited(scene)
      const wanted = { ...CONFLICT, message: USED, param: 'idempotency-key', protocol: way.client }
      expectError(await scene.ask(duet, caller, { request: other }).readAll(), wanted)
      scene.goOn()
      await first.readAll()
      expectError(await scene.ask(duet, caller, { request: other }).readAll(), wanted)
      expect(scene.visits).toHaveLength(1)
      const books = await eventually(
        () => booksOf(duet, caller.account),
        ({ rows }) => rows.length >= 3,
      )
      expectSound(books)
      expect(refusedIn(books).map(({ status, cost }) => [status, cost])).toEqual([
        ['idempotency_conflict', '0.00'],
        ['idempotency_conflict', '0.00'],
      ])
    }
  })

  test('the same text on the other path is something else', async () => {
    const caller = await newCaller(duet)
    const scene = new NamedScene(SOME_WHOLE)
    const init = { key: caller.key, headers: { 'idempotency-key': scene.name } }
    expect((await post(duet, CHAT, scene.request, init)).status).toBe(200)
    expectError(await post(duet, MESSAGES, scene.request, init), { ...CONFLICT, message: USED })
  })
})

describe('the same name with another header that changes the answer is refused, while the call runs and when it is over', () => {
  const MESSAGES_WAY: Way = { client: 'messages', upstream: 'messages', stream: true }
  const CASES: readonly [way: Way, header: string, values: readonly [string | undefined, string | undefined]][] = [
    [SOME_WHOLE, 'x-duet-max-cost', ['1', '2']],
    [SOME_STREAM, 'x-duet-max-cost', ['1', undefined]],
    [SOME_STREAM, 'x-duet-strict', [undefined, 'true']],
    [MESSAGES_WAY, 'anthropic-beta', ['one-thing', 'one-thing,another']],
  ]
  for (const [way, header, [before, after]] of CASES) {
    test(`${header}: ${before ?? 'none'}, then ${after ?? 'none'}`, async () => {
      const caller = await newCaller(duet)
      const scene = new NamedScene(way, answersLate)
      const having = (value: string | undefined) => (value === undefined ? {} : { headers: { [header]: value } })
      const first = scene.ask(duet, caller, having(before))
      await visited(scene)
      const wanted = { ...CONFLICT, message: USED, protocol: way.client }
      expectError(await scene.ask(duet, caller, having(after)).readAll(), wanted)
      scene.goOn()
      await first.readAll()
      expectError(await scene.ask(duet, caller, having(after)).readAll(), wanted)
      expectReplay(await scene.ask(duet, caller, having(before)).readAll(), await first.readAll())
    })
  }

  test('headers in which the tries of one client differ are not among them', async () => {
    const caller = await newCaller(duet)
    const scene = new NamedScene(SOME_WHOLE)
    const trial = (count: number) => ({
      'x-stainless-retry-count': `${count}`,
      'x-stainless-timeout': `${60 - count}`,
      'user-agent': `client/${count}`,
    })
    const first = await scene.ask(duet, caller, { headers: trial(0) }).readAll()
    expectReplay(await scene.ask(duet, caller, { headers: trial(1) }).readAll(), first)
  })
})

test('keys that use the same name know nothing of each other', async () => {
  const [one, two] = [await newCaller(duet), await newCaller(duet)]
  const scene = new NamedScene(SOME_WHOLE)
  const firsts = [await scene.ask(duet, one).readAll(), await scene.ask(duet, two).readAll()]
  for (const first of firsts) expectFirst(first)
  expect(scene.visits).toHaveLength(2)
  for (const caller of [one, two]) await expectPaidOnce(duet, caller)
})

describe('a name', () => {
  const ask = (caller: Caller, name: string) => new NamedScene(SOME_WHOLE).ask(duet, caller, { name }).readAll()

  test('may have any 1 to 255 printable characters', async () => {
    const caller = await newCaller(duet)
    for (const name of ['x', '~ "any" {thing}!', 'n'.repeat(255)]) expectFirst(await ask(caller, name))
  })

  test('of another kind is refused', async () => {
    const caller = await newCaller(duet)
    const wanted = { status: 400, code: 'invalid_request', param: 'idempotency-key' }
    const message = 'header idempotency-key must have 1 to 255 printable ASCII characters'
    for (const name of ['', 'n'.repeat(256), 'naïve', 'a\tb']) {
      expectError(await ask(caller, name), { ...wanted, message })
    }
  })
})

test('a stored answer is given whatever the key may do by now, but not to a key that is revoked', async () => {
  const caller = await newCaller(duet)
  const scene = new NamedScene(SOME_WHOLE)
  const first = await scene.ask(duet, caller).readAll()
  expect((await duet.admin('PATCH', `/api/keys/${caller.keyId}`, { models: ['acme/messages'], cap: '0' })).status).toBe(
    200,
  )
  expectError(await new NamedScene(SOME_WHOLE).ask(duet, caller).readAll(), { status: 403, code: 'model_not_allowed' })
  expectReplay(await scene.ask(duet, caller).readAll(), first)
  await duet.admin('DELETE', `/api/keys/${caller.keyId}`)
  expectError(await scene.ask(duet, caller).readAll(), { status: 401 })
})

test('a whole answer that was made as a stream, under a ceiling, is repeated whole', async () => {
  const caller = await newCaller(duet)
  const scene = new NamedScene(SOME_WHOLE)
  const headers = { 'x-duet-max-cost': '1' }
  const first = await scene.ask(duet, caller, { headers }).readAll()
  expect([first.body?.object, scene.visits[0]?.body.stream]).toEqual(['chat.completion', true])
  expectReplay(await scene.ask(duet, caller, { headers }).readAll(), first)
})

test('what the first answer said before its body is said again, and the log knows whose answer it was', async () => {
  const caller = await newCaller(duet)
  const scene = new NamedScene(SOME_WHOLE)
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
  const [{ content }] = scene.request.messages
  const request = { ...scene.request, messages: user([{ type: 'text', text: content }, image]) }
  const first = await scene.ask(duet, caller, { request }).readAll()
  const repeat = await scene.ask(duet, caller, { request }).readAll()
  expectReplay(repeat, first)
  expect([first, repeat].map(({ headers }) => headers.get('x-duet-dropped'))).toEqual(['image', 'image'])
  const line = await eventually(
    () =>
      duet
        .output()
        .split('\n')
        .find(printed => printed.includes(`"request_id":"${idOf(repeat)}"`)),
    found => found !== undefined,
  )
  expect(JSON.parse(line ?? '{}')).toMatchObject({ status: 200, code: 'ok', replay_of: idOf(first) })
})

test('of a call that is stored for its operator all of the answer is stored, though everybody has left', async () => {
  const caller = await newCaller(duet)
  expect((await duet.admin('PATCH', `/api/keys/${caller.keyId}`, { keep_days: 1 })).status).toBe(200)
  const scene = new NamedScene(SOME_STREAM, answersLate)
  const first = scene.ask(duet, caller)
  expect(await first.readUntil(TEXT)).toBe(true)
  first.leave()
  scene.goOn()
  const repeat = await scene.ask(duet, caller).readAll()
  const { body } = await eventually(
    () => duet.admin('GET', `/api/usage/${repeat.headers.get('x-duet-replay-of')}`),
    receipt => Boolean(receipt.body.capture),
  )
  expect(body.capture).toMatchObject({ request: JSON.stringify(scene.request), response: repeat.text })
})

// ── too large ───────────────────────────────────────────────────────────────────────────────────────────────────────

describe('an answer that is too large to be kept', () => {
  const PIECE = 'x'.repeat(64 * 1024)
  const PIECES = 160
  const RICH = { balance: '1000' }

  const streams = (protocol: 'chat' | 'messages') =>
    framesWith(
      protocol,
      Array.from({ length: PIECES }, () => PIECE),
      ANSWER.usage,
    )

  for (const way of STREAMED.filter(({ client, upstream: spoken }) => client === spoken)) {
    test(`is delivered to whoever is there, and never made again: ${nameOf(way)}`, async () => {
      const caller = await newCaller(duet, RICH)
      const scene = new NamedScene(way, visit => eventStream(streams(protocolOf(visit))))
      const [first, attached] = [scene.ask(duet, caller), scene.ask(duet, caller)]
      const [one, two] = await Promise.all([first.readAll(), attached.readAll()])
      expect(one.text.split(PIECE)).toHaveLength(PIECES + 1)
      expect(two.text === one.text).toBe(true)
      expectError(await scene.ask(duet, caller).readAll(), { ...NOT_KEPT, protocol: way.client })
      expect(scene.visits).toHaveLength(1)
      const books = await settledBooks(duet, caller.account, 1)
      expectSound(books)
      expect(chargesIn(books).map(({ amount }) => -nanosOf(amount))).toEqual([costOf(REPORTED)])
    })
  }

  test('is read no faster than by who reads it, and ended when nobody does; then it is not made again either', async () => {
    const caller = await newCaller(duet, RICH)
    let sent = 0
    const scene = new NamedScene(SOME_STREAM, visit => {
      const opening = openingFrames(protocolOf(visit))
      const [piece = ''] = framesWith(protocolOf(visit), [PIECE]).filter(frame => frame.includes(PIECE))
      const bytes = new TextEncoder().encode(piece)
      const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
        controller.enqueue(sent++ === 0 ? new TextEncoder().encode(opening.join('')) : bytes)
      }
      return new Response(new ReadableStream({ pull }), { headers: { 'content-type': 'text/event-stream' } })
    })
    const slow = scene.ask(duet, caller)
    // It would go on for ever: that it stops is seen when it has not moved for a while.
    let before = -1
    await eventually(
      async () => {
        const now = sent
        const isStill = now === before && now > 1
        before = now
        await Bun.sleep(150)
        return isStill
      },
      isStill => isStill,
    )
    expect(sent * PIECE.length).toBeGreaterThan(8 * 1024 * 1024)
    // Sockets on both sides hold some of it as well.
    expect(sent * PIECE.length).toBeLessThan(64 * 1024 * 1024)
    slow.leave()
    const books = await settledBooks(duet, caller.account, 1)
    expectSound(books)
    expect(admittedIn(books)).toMatchObject([{ status: 'client_gone' }])
    await eventually(
      () => scene.visits[0]?.signal.aborted,
      isAborted => isAborted === true,
    )
    expect(scene.visits[0]?.signal.aborted).toBe(true)
    expectError(await scene.ask(duet, caller).readAll(), { ...NOT_KEPT })
  })

  test('whole, is delivered too', async () => {
    const caller = await newCaller(duet, RICH)
    const text = PIECE.repeat(PIECES)
    const scene = new NamedScene(SOME_WHOLE, visit => new Response(bodyOf(protocolOf(visit), { ...ANSWER, text })))
    const first = await scene.ask(duet, caller).readAll()
    expect(first.text.includes(text)).toBe(true)
    expectError(await scene.ask(duet, caller).readAll(), { ...NOT_KEPT })
    expect(scene.visits).toHaveLength(1)
  })
})

// ── official clients ────────────────────────────────────────────────────────────────────────────────────────────────

describe('an official client that tries again under the same name', () => {
  const failsOnce = (way: Way) =>
    new NamedScene(way, (visit, scene) =>
      scene.visits.length === 1 ? new Response('busy', { status: 503 }) : answers(visit, scene),
    )

  test('chat', async () => {
    const caller = await newCaller(duet)
    const client = new OpenAI({ baseURL: duet.base, apiKey: caller.key, maxRetries: 2 })
    const scene = failsOnce({ client: 'chat', upstream: 'chat', stream: true })
    const ask = async () => {
      const headers = { 'idempotency-key': scene.name }
      const { choices } = await client.chat.completions.stream(scene.request, { headers }).finalChatCompletion()
      return choices[0]?.message.content
    }
    expect([await ask(), await ask()]).toEqual([TEXT, TEXT])
    expect(scene.visits).toHaveLength(2)
    expect(chargesIn(await settledBooks(duet, caller.account, 2))).toHaveLength(1)
  })

  test('messages', async () => {
    const caller = await newCaller(duet)
    const client = new Anthropic({ baseURL: duet.url, apiKey: caller.key, maxRetries: 2 })
    const scene = failsOnce({ client: 'messages', upstream: 'messages', stream: true })
    const ask = async () => {
      const { stream: _, ...request } = scene.request
      return client.messages.stream(request, { headers: { 'idempotency-key': scene.name } }).finalText()
    }
    expect([await ask(), await ask()]).toEqual([TEXT, TEXT])
    expect(scene.visits).toHaveLength(2)
    expect(chargesIn(await settledBooks(duet, caller.account, 2))).toHaveLength(1)
  })
})

test('after all of these the books add up', () => expectVerified(duet))

// ── what outlives the process ───────────────────────────────────────────────────────────────────────────────────────

/** On PostgreSQL a name that a dead process had claimed is free when it is certain that it is dead: a lease later. */
const OUTLIVES_MS_MAX = 90_000

test(
  'an answer outlives a kill -9 right after its last byte, a stop, and nothing of it can be read; after its time it is forgotten',
  async () => {
    let own = await startDuet({ config: configFor(upstream) })
    const caller = await newCaller(own)
    const [whole, stream, late] = [
      new NamedScene(SOME_WHOLE),
      new NamedScene(SOME_STREAM),
      new NamedScene(SOME_STREAM, answersLate),
    ]
    const scenes = [whole, stream]
    const interrupted = late.ask(own, caller)
    expect(await interrupted.readUntil(TEXT)).toBe(true)
    const firsts = await Promise.all(scenes.map(scene => scene.ask(own, caller).readAll()))
    await own.stop('SIGKILL')
    await interrupted.readAll().catch(() => {})

    const stored = await storedBytes(own.folder)
    expect(stored).not.toContain(TEXT.slice(0, 20))
    for (const { name } of scenes) expect(stored).not.toContain(name)

    own = await own.restart()
    const repeat = async () => {
      for (const [place, scene] of scenes.entries()) {
        const first = firsts[place]
        if (first) expectReplay(await scene.ask(own, caller).readAll(), first)
      }
    }
    await repeat()
    late.goOn()
    const afresh = await late.ask(own, caller).readAll()
    expectFirst(afresh)
    firsts.push(afresh)
    scenes.push(late)
    expect(await own.stop()).toBe(0)

    own = await own.restart()
    await repeat()
    expect(scenes.map(({ visits }) => visits.length)).toEqual([1, 1, 2])
    const books = await settledBooks(own, caller.account, 4)
    expectSound(books)
    expect(chargesIn(books)).toHaveLength(3)
    await expectVerified(own)
    expect(await own.stop()).toBe(0)

    await expireAnswers(own)
    own = await own.restart()
    for (const scene of scenes) expectFirst(await scene.ask(own, caller).readAll())
    expect(scenes.map(({ visits }) => visits.length)).toEqual([2, 2, 3])
    const after = await settledBooks(own, caller.account, 7)
    expectSound(after)
    expect(chargesIn(after)).toHaveLength(6)
    await expectVerified(own)
    expect(await own.stop()).toBe(0)
  },
  OUTLIVES_MS_MAX,
)

test.skipIf(!canLimit)('an answer that cannot be paid for is not stored, and may be asked for again', async () => {
  const own = await startLimited(configFor(upstream))
  const caller = await newCaller(own)
  const scenes = [SOME_WHOLE, SOME_STREAM].map(way => new NamedScene(way, answersLate))
  const listeners = scenes.map(scene => scene.ask(own, caller))
  await Promise.all(scenes.map(scene => visited(scene)))
  await listeners[1]?.readUntil(TEXT)
  own.fill()
  for (const scene of scenes) scene.goOn()
  const [whole, stream] = await Promise.all(listeners.map(listener => listener.readAll()))
  expect(whole?.status).toBe(503)
  expect(brokenEnd(SOME_STREAM.client, stream?.text ?? '')?.code).toBe('ledger_unavailable')
  own.empty()
  for (const scene of scenes) {
    const second = await scene.ask(own, caller).readAll()
    expectFirst(second)
    expectReplay(await scene.ask(own, caller).readAll(), second)
    expect(scene.visits).toHaveLength(2)
  }
  expect(await own.stop()).toBe(0)
  const again = await own.restart()
  expectSound(await settledBooks(again, caller.account, 4))
  await expectVerified(again)
  await again.stop()
})

test('a stopping server waits for calls that everybody has left', async () => {
  let own = await startDuet({ config: configFor(upstream) })
  const caller = await newCaller(own)
  const scenes = [SOME_WHOLE, SOME_STREAM].map(way => new NamedScene(way, answersLate))
  for (const scene of scenes) {
    const listener = scene.ask(own, caller)
    await visited(scene)
    if (scene.way.stream) await listener.readUntil(TEXT)
    listener.leave()
  }
  // For the server to notice.
  await Bun.sleep(50)
  const stopped = own.stop()
  const health = async () => (await fetch(`${own.url}/health/ready`)).status
  expect(await eventually(health, status => status === 503)).toBe(503)
  for (const scene of scenes) scene.goOn()
  expect(await stopped).toBe(0)
  own = await own.restart()
  for (const scene of scenes) {
    const { status, headers } = await scene.ask(own, caller).readAll()
    expect([status, headers.has('x-duet-replay-of'), scene.visits.length]).toEqual([200, true, 1])
  }
  const books = await settledBooks(own, caller.account, 2)
  expectSound(books)
  expect(admittedIn(books)).toMatchObject([PAID, PAID].map(({ status, source }) => ({ status, source })))
  await own.stop()
})

async function expireAnswers({ folder }: Duet): Promise<void> {
  const tables = await openTablesOf(folder)
  expect(await tables.run('UPDATE answers SET expires_at = ?', Date.now())).toBe(3)
  await tables.close()
}
