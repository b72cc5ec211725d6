import { describe, expect, test } from 'bun:test'
import { PAIRS, PATHS } from '../pairs/pairs.ts'
import { type Answer, CHAT, post, user } from '../support/http.ts'
import type { UpstreamVisit } from '../support/upstream.ts'
import { ask, expectError, idOf, newCaller } from '../support/wire.ts'
import { amountOf, answering, costOf, dollarsOf, gate, nameOf, PROMPT, QUESTION, useLedger } from './stage.ts'

const stage = useLedger()

const call = (key: string, fields: object = {}, model = 'acme/chat'): Promise<Answer> =>
  post(stage.duet, CHAT, { model, messages: user(QUESTION), ...fields }, { key })

/** The amounts of a refusal: what is left, and what is needed. */
const amounts = (message: string): bigint[] =>
  [...message.matchAll(/＄(\d+\.\d{6})/g)].map(([, amount = '']) => amountOf(amount))

describe('2. Held before spent: how much', () => {
  /** What is held while the upstream thinks about a call. */
  async function heldFor(fields: object, balance = 100_000_000_000n): Promise<{ held: bigint; visit: UpstreamVisit }> {
    const { key, account } = await newCaller(stage.duet, { balance: dollarsOf(balance) })
    let held = -1n
    stage.answer = async visit => {
      held = await stage.nanosHeld(account)
      return answering({ input: 1, output: 1 })(visit)
    }
    expect((await call(key, fields)).status).toBe(200)
    expect(await stage.nanosHeld(account)).toBe(0n)
    return { held, visit: stage.visit }
  }

  const HOLDS: readonly [title: string, fields: object, output: number][] = [
    ['a whole answer: the prompt and max_tokens', { max_tokens: 300 }, 300],
    ['a whole answer with a large limit: all of it', { max_tokens: 32_000 }, 32_000],
    ['a whole answer: max_completion_tokens is a limit too', { max_completion_tokens: 200 }, 200],
    ['a whole answer without a limit: the most the model can write', {}, 64_000],
    ['a limit beyond what the model can write: what it can', { max_tokens: 1_000_000 }, 64_000],
    ['several answers: each up to the limit', { max_tokens: 300, n: 3 }, 900],
    ['a stream: the prompt and a window', { stream: true, max_tokens: 32_000 }, 4_096],
    ['a stream without a limit: a window', { stream: true }, 4_096],
    ['a stream with less than a window to write: that much', { stream: true, max_tokens: 300 }, 300],
  ]
  for (const [title, fields, output] of HOLDS) {
    test(`before the upstream is asked, this is held for ${title}`, async () => {
      expect((await heldFor(fields)).held).toBe(costOf({ input: PROMPT, output }))
    })
  }

  for (const pair of PAIRS) {
    for (const stream of [false, true]) {
      const how = `${nameOf(pair)}, ${stream ? 'streamed' : 'whole'}`
      test(`all that is left is held if it covers the prompt and 1,024 tokens, and the limit is lowered to it: ${how}`, async () => {
        const balance = costOf({ input: PROMPT, output: 1_500 }) + 3_999n
        const { key, account } = await newCaller(stage.duet, { balance: dollarsOf(balance) })
        let held = -1n
        stage.answer = async visit => {
          held = await stage.nanosHeld(account)
          return answering({ input: PROMPT, output: 1_500 }, { finish: 'length' })(visit)
        }
        const body = ask(pair.client, `acme/${pair.upstream}`, QUESTION, { stream, max_tokens: 20_000 })
        const answer = await post(stage.duet, PATHS[pair.client], body, { key })
        expect([answer.status, held]).toEqual([200, balance])
        expect(stage.visit.body.max_tokens).toBe(1_500)
        expect(await stage.balance(account)).toBe(3_999n)
        expect((await stage.receipt(idOf(answer))).ending).toBe('funds')
      })
    }
  }

  for (const fields of [{}, { max_completion_tokens: 20_000 }]) {
    test(`a lowered limit replaces the one that was asked for: ${JSON.stringify(fields)}`, async () => {
      const { visit } = await heldFor(fields, costOf({ input: PROMPT, output: 2_000 }))
      const { max_tokens, max_completion_tokens } = visit.body
      expect(max_completion_tokens ?? max_tokens).toBe(2_000)
    })
  }

  test('several answers share what is left', async () => {
    const { visit } = await heldFor({ n: 2, max_tokens: 9_000 }, costOf({ input: PROMPT, output: 5_001 }))
    expect(visit.body).toMatchObject({ n: 2, max_tokens: 2_500 })
  })

  /** The least that is worth starting with: the prompt and 1,024 tokens, or the limit if that is less. */
  const LEAST: readonly [title: string, fields: object, output: number][] = [
    ['a whole answer', { max_tokens: 20_000 }, 1_024],
    ['a whole answer without a limit', {}, 1_024],
    ['a short answer', { max_tokens: 10 }, 10],
    ['a stream', { stream: true }, 1_024],
    ['a short stream', { stream: true, max_tokens: 10 }, 10],
    ['two answers', { n: 2 }, 2_048],
  ]
  for (const [title, fields, output] of LEAST) {
    const least = costOf({ input: PROMPT, output })

    test(`a refusal names the least that would have been enough, to the last billionth: ${title}`, async () => {
      stage.answer = answering({ input: 1, output: 1 })
      const { key, account } = await newCaller(stage.duet, { balance: '0.000001' })
      const refused = expectError(await call(key, fields), { status: 403, code: 'insufficient_user_quota' })
      expect(amounts(refused.message)).toEqual([1_000n, least])
      await stage.topUp(account, least - 1_000n - 1n)
      expectError(await call(key, fields), { status: 403, code: 'insufficient_user_quota' })
      await stage.topUp(account, 1n)
      expect((await call(key, fields)).status).toBe(200)
    })

    test(`the same where the cap is short: ${title}`, async () => {
      stage.answer = answering({ input: 1, output: 1 })
      const { key, keyId } = await newCaller(stage.duet, { cap: dollarsOf(least - 1n) })
      const refused = expectError(await call(key, fields), { status: 403, code: 'pre_consume_token_quota_failed' })
      expect(amounts(refused.message)[1]).toBe(least)
      await stage.duet.admin('PATCH', `/api/keys/${keyId}`, { cap: dollarsOf(least) })
      expect((await call(key, fields)).status).toBe(200)
    })
  }

  test('where six decimals cannot say the least exactly, the refusal names enough', async () => {
    stage.answer = answering({ input: 1, output: 1 })
    const { key, account } = await newCaller(stage.duet, { balance: '0.000001' })
    const refused = expectError(await call(key, {}, 'acme/odd'), { status: 403 })
    const [left = 0n, least = 0n] = amounts(refused.message)
    await stage.topUp(account, least - left)
    expect((await call(key, {}, 'acme/odd')).status).toBe(200)
  })

  test('what others hold counts as gone, and is named so', async () => {
    const one = costOf({ input: PROMPT, output: 2_000 })
    const { key, account } = await newCaller(stage.duet, { balance: dollarsOf(one + 5_000n) })
    const thinking = gate()
    stage.answer = async visit => {
      if (visit.body.max_tokens === 2_000) await thinking.opened
      return answering({ input: 1, output: 1 })(visit)
    }
    const first = call(key, { max_tokens: 2_000 })
    while ((await stage.nanosHeld(account)) === 0n) await Bun.sleep(2)
    const refused = expectError(await call(key), { status: 403, code: 'insufficient_user_quota' })
    expect(amounts(refused.message)).toEqual([5_000n, costOf({ input: PROMPT, output: 1_024 })])
    thinking.open()
    expect((await first).status).toBe(200)
    expect((await call(key)).status).toBe(200)
  })
})
