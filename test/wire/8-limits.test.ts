import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../support/duet.ts'
import { CHAT, framesOf, post } from '../support/http.ts'
import { ask, balanceOf, expectError, newCaller, PATHS, PROTOCOLS, type ProtocolName, read } from '../support/wire.ts'

/** Prices of our own, so that bills can be added up; the sandbox alternates between its two kinds of upstream. */
const CONFIG = `
models:
  - { id: acme/plain-chat, price: { input: 1, output: 4 } }
  - { id: acme/plain-messages, price: { input: 1, output: 4 } }
  - { id: acme/thinker-chat, price: { input: 1, output: 4 }, reasoning: true }
  - { id: acme/thinker-messages, price: { input: 1, output: 4 }, reasoning: true }
  - { id: acme/gold, price: { input: 1000000, output: 1000000 } }
`

let duet: Duet
beforeAll(async () => {
  duet = await startDuet({ config: CONFIG })
})
afterAll(() => duet.stop())

const PAIRS = PROTOCOLS.flatMap(protocol =>
  PROTOCOLS.map(upstream => ({
    title: `${protocol} over a ${upstream} upstream`,
    protocol,
    path: PATHS[protocol],
    model: `acme/plain-${upstream}`,
    thinker: `acme/thinker-${upstream}`,
  })),
)

const dollars = ({ input, output }: { input: number; output: number }) => (input * 1 + output * 4) / 1e6

describe('8: messages and limits of tokens', () => {
  for (const { title, protocol, path, model } of PAIRS) {
    test(`8: messages has at least one item: ${title}`, async () => {
      const none = await post(duet, path, ask(protocol, model, 'Hi', { messages: [] }))
      expectError(none, { status: 500, code: 'invalid_request', message: 'field messages is required', protocol })
      expect((await post(duet, path, ask(protocol, model, 'Hi'))).status).toBe(200)
    })

    test(`8: max_tokens is at least 1: ${title}`, async () => {
      const none = await post(duet, path, ask(protocol, model, 'Hi', { max_tokens: 0 }))
      expectError(none, { status: 400, code: 'invalid_request', param: 'max_tokens', protocol })
      const { status, body } = await post(duet, path, ask(protocol, model, 'Hi', { max_tokens: 1 }))
      expect(status).toBe(200)
      expect(read(protocol, body)).toMatchObject({ output: 1, stop: protocol === 'chat' ? 'length' : 'max_tokens' })
    })
  }

  for (const model of ['acme/plain-chat', 'acme/plain-messages']) {
    test(`8: max_completion_tokens is at least 1 (${model})`, async () => {
      const none = await post(duet, CHAT, ask('chat', model, 'Hi', { max_completion_tokens: 0 }))
      expectError(none, { status: 400, code: 'invalid_request', param: 'max_completion_tokens', protocol: 'chat' })
      const { body } = await post(duet, CHAT, ask('chat', model, 'Hi', { max_completion_tokens: 1 }))
      expect(read('chat', body)).toMatchObject({ output: 1, stop: 'length' })
    })
  }
})

describe('8: caps and balances', () => {
  const CAPPED = { status: 403, code: 'pre_consume_token_quota_failed' }
  const BROKE = { status: 403, code: 'insufficient_user_quota' }

  for (const { title, protocol, path, model } of PAIRS) {
    for (const stream of [false, true]) {
      const how = `${title}${stream ? ', streamed' : ''}`

      test(`8: the cap of a key applies to all billable calls: ${how}`, async () => {
        const { key } = await newCaller(duet, { balance: '10', cap: '0' })
        expectError(await post(duet, path, ask(protocol, model, 'Hi', { stream }), { key }), { ...CAPPED, protocol })
      })

      test(`8: a balance of zero applies to all billable calls: ${how}`, async () => {
        const { key } = await newCaller(duet, { balance: '0' })
        const answer = await post(duet, path, ask(protocol, model, 'Hi', { stream }), { key })
        expectError(answer, { ...BROKE, message: '用户额度不足, 剩余额度: ＄0.000000', protocol })
      })
    }
  }

  test('8: amounts have six decimals and no thousands separators', async () => {
    const { account, key } = await newCaller(duet, { balance: '1000.25', cap: '1000.125' })
    const request = ask('chat', 'acme/gold', 'Hi', { max_tokens: 8_000 })
    const capped = /^token quota is not enough, token remain quota: ＄1000\.125000, need quota: ＄\d{4,}\.\d{6}$/
    const { key: uncapped } = await newCaller(duet, { balance: '1000.25' })
    const short = /^预扣费额度失败, 用户剩余额度: ＄1000\.250000, 需要预扣费额度: ＄\d{4,}\.\d{6}$/
    expectError(await post(duet, CHAT, request, { key: uncapped }), { ...BROKE, message: short })
    await duet.admin('POST', `/api/accounts/${account}/topups`, { amount: '1000000' })
    expectError(await post(duet, CHAT, request, { key }), { ...CAPPED, message: capped })
  })
})

const usageOf = (protocol: ProtocolName, text: string) => {
  const frames = framesOf(text)
  const usage =
    protocol === 'chat' ? frames.at(-2)?.json.usage : frames.find(({ event }) => event === 'message_delta')?.json.usage
  return {
    input: usage.prompt_tokens ?? usage.input_tokens,
    output: usage.completion_tokens ?? usage.output_tokens,
  }
}

describe('8.1-8.2: the bill', () => {
  for (const { title, protocol, path, model, thinker } of PAIRS) {
    const cap = protocol === 'chat' ? { max_completion_tokens: 12 } : { max_tokens: 12 }
    const streaming = { stream: true, stream_options: { include_usage: true } }

    test(`8.1: a cap of 12 truncates the visible text and gives its finish reason: ${title}`, async () => {
      const whole = read(protocol, (await post(duet, path, ask(protocol, thinker, 'Hi'))).body)
      const { text, stop } = read(protocol, (await post(duet, path, ask(protocol, thinker, 'Hi', cap))).body)
      expect(stop).toBe(protocol === 'chat' ? 'length' : 'max_tokens')
      expect(whole.text).toStartWith(text)
      expect(text.length).toBeLessThan(whole.text.length)
    })

    test(`8.1: billed tokens exceed the cap by the reasoning: ${title}`, async () => {
      const { body } = await post(duet, path, ask(protocol, thinker, 'Hi', cap))
      expect(read(protocol, body).output).toBeGreaterThan(200)
    })

    for (const [kind, id] of Object.entries({ plain: model, reasoning: thinker })) {
      test(`8.2: what is billed is the usage, reasoning included: a ${kind} model, ${title}`, async () => {
        const { account, key } = await newCaller(duet, { balance: '10' })
        const { body } = await post(duet, path, ask(protocol, id, 'Hi', cap), { key })
        const cost = dollars(read(protocol, body))
        expect(cost).toBeGreaterThan(0)
        expect(10 - Number(await balanceOf(duet, account))).toBeCloseTo(cost, 9)
      })

      test(`8.2: the same for a stream: a ${kind} model, ${title}`, async () => {
        const { account, key } = await newCaller(duet, { balance: '10' })
        const more = { ...cap, ...(protocol === 'chat' ? streaming : { stream: true }) }
        const { text } = await post(duet, path, ask(protocol, id, 'Hi', more), { key })
        const cost = dollars(usageOf(protocol, text))
        expect(cost).toBeGreaterThan(0)
        expect(10 - Number(await balanceOf(duet, account))).toBeCloseTo(cost, 9)
      })
    }

    test(`8.1: a call that costs more than its cap promised is still charged to key and account: ${title}`, async () => {
      const { keyId, key } = await newCaller(duet, { balance: '10', cap: '5' })
      const { body } = await post(duet, path, ask(protocol, thinker, 'Hi', cap), { key })
      const spent = await duet.admin('GET', `/api/keys/${keyId}`)
      expect(Number(spent.body.spent)).toBeCloseTo(dollars(read(protocol, body)), 9)
    })
  }
})
