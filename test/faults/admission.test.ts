import { describe, expect, test } from 'bun:test'
import type { JsonBody } from '../support/duet.ts'
import { framesOf, post } from '../support/http.ts'
import { eventStream, type UpstreamVisit } from '../support/upstream.ts'
import { chatFrame, messagesFrame, protocolOf, vendorBody, vendorFrames } from '../support/vendor.ts'
import { type CallerFields, eventually, expectError, newCaller, type ProtocolName } from '../support/wire.ts'
import { type RawAnswer, type RawRequest, sendAtOnce } from './sockets.ts'
import {
  admittedIn,
  booksOf,
  costOf,
  dollarsOf,
  expectSound,
  expectVerified,
  nameOf,
  nanosOf,
  PAIRS,
  pathOf,
  promptTokensIn,
  refusedIn,
  requestFor,
  type Stage,
  settledBooks,
  useStage,
  WAYS,
} from './support.ts'

const REQUESTS = 500
const AFFORDABLE = 50
/** Below the 1,024 tokens that make a call worth starting, so a call holds all of this or is refused. */
const MAX_TOKENS = 1000

const PROMPT_TOKENS = promptTokensIn(requestFor({ client: 'chat', upstream: 'chat', stream: false }, 'Hi'))
const HOLD = costOf({ input: PROMPT_TOKENS, output: MAX_TOKENS })

/** Messages show six decimals: what is left is rounded down, and what is needed up, so that it suffices. */
const roundedDown = (nanos: bigint): string => `＄${dollarsOf(nanos).slice(0, -3)}`
const NEEDED = roundedDown(HOLD + 999n)

describe('500 concurrent requests against money for 50', () => {
  const stage = useStage()

  const PURSES: readonly {
    readonly name: string
    readonly money: bigint
    readonly limits: (money: bigint) => CallerFields
    readonly code: string
    readonly message: (left: bigint) => string
  }[] = [
    {
      name: 'the balance pays for exactly 50',
      money: HOLD * BigInt(AFFORDABLE),
      limits: money => ({ balance: dollarsOf(money) }),
      code: 'insufficient_user_quota',
      message: left => `预扣费额度失败, 用户剩余额度: ${roundedDown(left)}, 需要预扣费额度: ${NEEDED}`,
    },
    {
      name: 'the balance is a billionth of a dollar short of 51',
      money: HOLD * BigInt(AFFORDABLE + 1) - 1n,
      limits: money => ({ balance: dollarsOf(money) }),
      code: 'insufficient_user_quota',
      message: left => `预扣费额度失败, 用户剩余额度: ${roundedDown(left)}, 需要预扣费额度: ${NEEDED}`,
    },
    {
      name: 'the cap of the key pays for exactly 50, the balance for all',
      money: HOLD * BigInt(AFFORDABLE),
      limits: money => ({ balance: '10', cap: dollarsOf(money) }),
      code: 'pre_consume_token_quota_failed',
      message: left => `token quota is not enough, token remain quota: ${roundedDown(left)}, need quota: ${NEEDED}`,
    },
    {
      name: 'the cap of the key is a billionth of a dollar short of 51, the balance pays for all',
      money: HOLD * BigInt(AFFORDABLE + 1) - 1n,
      limits: money => ({ balance: '10', cap: dollarsOf(money) }),
      code: 'pre_consume_token_quota_failed',
      message: left => `token quota is not enough, token remain quota: ${roundedDown(left)}, need quota: ${NEEDED}`,
    },
  ]

  for (const { name, money, limits, code, message } of PURSES) {
    for (const stream of [false, true]) {
      test(`${name}: exactly 50 are admitted, ${stream ? 'streamed' : 'whole'}`, async () => {
        const caller = await newCaller(stage.duet, limits(money))
        const opening = nanosOf((await booksOf(stage.duet, caller.account)).account.balance)
        const { admitted, refused } = await storm(stage, caller.key, stream)

        expect([admitted.length, refused.length]).toEqual([AFFORDABLE, REQUESTS - AFFORDABLE])
        expect(admitted.filter(isWhole)).toHaveLength(AFFORDABLE)
        // All 50 holds were open at once, so every refusal saw the same money left.
        const left = money - HOLD * BigInt(AFFORDABLE)
        expect(new Set(refused.map(refusalOf))).toEqual(new Set([`403 ${code} ${message(left)}`]))

        const books = await settledBooks(stage.duet, caller.account, AFFORDABLE)
        expectSound(books)
        expect(admittedIn(books)).toHaveLength(AFFORDABLE)
        expect(refusedIn(books).map(({ status, cost }) => `${status} ${cost}`)).toEqual(
          Array(REQUESTS - AFFORDABLE).fill(`${code} 0.00`),
        )
        // Every answer used all that was held for it: not a billionth more is gone, and not one less.
        expect(nanosOf(books.account.balance)).toBe(opening - HOLD * BigInt(AFFORDABLE))
        expect(books.entries.filter(({ balance }) => nanosOf(balance) < 0n)).toEqual([])
        const { body: key } = await stage.duet.admin('GET', `/api/keys/${caller.keyId}`)
        expect(nanosOf(key.spent)).toBe(HOLD * BigInt(AFFORDABLE))
        await expectVerified(stage.duet)
      }, 20_000)
    }
  }
})

describe('reasoning beyond the cap', () => {
  const stage = useStage(', reasoning: true')
  /** What the upstream says it has written, for a limit of `MAX_TOKENS`. */
  const WRITTEN = MAX_TOKENS + 400
  const EXCESS = costOf({ input: PROMPT_TOKENS, output: WRITTEN }) - HOLD

  test('takes the balance of 50 that were admitted together below zero by exactly the excess', async () => {
    const caller = await newCaller(stage.duet, { balance: dollarsOf(HOLD * BigInt(AFFORDABLE)) })
    const { admitted, refused } = await storm(stage, caller.key, true, WRITTEN)
    expect([admitted.filter(isWhole).length, refused.length]).toEqual([AFFORDABLE, REQUESTS - AFFORDABLE])

    const books = await settledBooks(stage.duet, caller.account, AFFORDABLE)
    expectSound(books)
    expect(nanosOf(books.account.balance)).toBe(-EXCESS * BigInt(AFFORDABLE))
    await expectVerified(stage.duet)
  }, 20_000)

  for (const way of WAYS) {
    test(`${nameOf(way)}: the excess is charged, and the next request is refused`, async () => {
      const caller = await newCaller(stage.duet, { balance: dollarsOf(HOLD) })
      stage.answer = visit => reasoned(visit, WRITTEN)
      const ask = () =>
        post(stage.duet, pathOf(way), requestFor(way, 'Hi', { max_tokens: MAX_TOKENS }), { key: caller.key })
      expect((await ask()).status).toBe(200)

      const books = await settledBooks(stage.duet, caller.account, 1)
      expectSound(books)
      expect(books.rows).toMatchObject([
        { status: 'ok', source: 'upstream', tokens: { output: WRITTEN, reasoning: WRITTEN - MAX_TOKENS } },
      ])
      expect(nanosOf(books.account.balance)).toBe(-EXCESS)

      const asked = stage.upstream.requests.length
      expectError(await ask(), {
        ...{ status: 403, code: 'insufficient_user_quota', message: '用户额度不足, 剩余额度: ＄0.000000' },
        protocol: way.client,
      })
      expect(stage.upstream.requests).toHaveLength(asked)
      expect(nanosOf((await booksOf(stage.duet, caller.account)).account.balance)).toBe(-EXCESS)
    })
  }
})

interface Storm {
  readonly admitted: readonly RawAnswer[]
  readonly refused: readonly RawAnswer[]
}

/** All requests at once, over all pairs of protocols; the upstream answers none before each of them was decided. */
async function storm(stage: Stage, key: string, stream: boolean, written = MAX_TOKENS): Promise<Storm> {
  const { promise: decided, resolve: decide } = Promise.withResolvers<void>()
  let arrived = 0
  stage.answer = async visit => {
    arrived++
    await decided
    return reasoned(visit, written)
  }
  const requests = Array.from({ length: REQUESTS }, (_, place): RawRequest => {
    const way = { ...(PAIRS[place % PAIRS.length] as (typeof PAIRS)[number]), stream }
    return { path: pathOf(way), key, body: requestFor(way, 'Hi', { max_tokens: MAX_TOKENS }) }
  })

  let over = 0
  const answers = await sendAtOnce(stage.duet.url, requests)
  for (const answer of answers) answer.then(() => over++)
  await eventually(
    () => arrived + over,
    decided => decided === REQUESTS,
    10_000,
  )
  const decisions = { arrived, over }
  decide()
  const all = await Promise.all(answers)
  expect(decisions).toEqual({ arrived: AFFORDABLE, over: REQUESTS - AFFORDABLE })
  expect(arrived).toBe(AFFORDABLE)
  return { admitted: all.filter(({ status }) => status === 200), refused: all.filter(({ status }) => status !== 200) }
}

/** Without its request id. */
function refusalOf({ status, text }: RawAnswer): string {
  const { code, message } = JSON.parse(text).error
  return `${status} ${code} ${message.replace(/ \(request id: [a-z]+\)$/, '')}`
}

function isWhole({ text }: RawAnswer): boolean {
  if (text.startsWith('{')) return JSON.parse(text).usage.cost !== undefined
  const frames = framesOf(text)
  const isEnd = frames.at(-1)?.data === '[DONE]' || frames.at(-1)?.event === 'message_stop'
  return isEnd && frames.some(({ json }) => json?.usage?.cost !== undefined)
}

/** An answer that used the estimated prompt and so many tokens of output; what is above the limit was reasoning. */
function reasoned(visit: UpstreamVisit, written: number): Response {
  const protocol = protocolOf(visit)
  const usage = usageOf(protocol, written)
  if (!visit.body.stream) return Response.json({ ...vendorBody(protocol), usage })
  const ended = protocol === 'chat' ? chatEnd(usage) : messagesEnd(usage)
  return eventStream([...vendorFrames(protocol).slice(0, -2), ...ended])
}

const usageOf = (protocol: ProtocolName, written: number): JsonBody =>
  protocol === 'chat'
    ? {
        prompt_tokens: PROMPT_TOKENS,
        completion_tokens: written,
        total_tokens: PROMPT_TOKENS + written,
        completion_tokens_details: { reasoning_tokens: written - MAX_TOKENS },
      }
    : {
        input_tokens: PROMPT_TOKENS,
        output_tokens: written,
        output_tokens_details: { thinking_tokens: written - MAX_TOKENS },
      }

const chatEnd = (usage: JsonBody): string[] => [chatFrame({}, { choices: [], usage }), 'data: [DONE]\n\n']

const messagesEnd = (usage: JsonBody): string[] => [
  messagesFrame('message_delta', { delta: { stop_reason: 'end_turn' }, usage }),
  messagesFrame('message_stop'),
]
