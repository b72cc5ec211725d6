import { describe, expect, test } from 'bun:test'
import { faultsInChat, faultsInMessages } from '../pairs/grammar.ts'
import { ask, bodyFor, LIKE, PAIRS, PATHS, type Pair, type Protocol, type Question } from '../pairs/pairs.ts'
import { chatFrame, messagesFrame, protocolOf } from '../pairs/wire.ts'
import type { JsonBody } from '../support/duet.ts'
import { CHAT, framesOf, post, user } from '../support/http.ts'
import { eventStream } from '../support/upstream.ts'
import { type Caller, eventually, expectError, idOf, newCaller } from '../support/wire.ts'
import { amountOf, costOf, dollarsOf, gate, nameOf, PROMPT, QUESTION, used, useLedger } from './stage.ts'

const stage = useLedger()

type Kind = 'text' | 'thinking' | 'call'

/** A hundred tokens, as the gateway counts them, that can be told from all others. */
const piece = (number: number) => `<${number}>`.padEnd(400, '.')
const pieces = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => piece(from + i))

const OPENINGS: Record<Protocol, Record<Kind, string[]>> = {
  chat: {
    text: [delta({ role: 'assistant', content: '' })],
    thinking: [delta({ role: 'assistant', content: '' })],
    call: [
      delta({ role: 'assistant', content: null }),
      delta({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'write', arguments: '' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '{"text":"' } }] }),
    ],
  },
  messages: {
    text: [start(), messagesFrame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })],
    thinking: [
      start(),
      messagesFrame('content_block_start', {
        index: 0,
        content_block: { type: 'thinking', thinking: '', signature: '' },
      }),
    ],
    call: [
      start(),
      messagesFrame('content_block_start', {
        index: 0,
        content_block: { type: 'tool_use', id: 'toolu_1', name: 'write', input: {} },
      }),
      messagesFrame('content_block_delta', {
        index: 0,
        delta: { type: 'input_json_delta', partial_json: '{"text":"' },
      }),
    ],
  },
}

const WRITERS: Record<Protocol, Record<Kind, (text: string) => string>> = {
  chat: {
    text: content => delta({ content }),
    thinking: text => delta({ reasoning_content: text }),
    call: text => delta({ tool_calls: [{ index: 0, function: { arguments: text } }] }),
  },
  messages: {
    text: text => messagesFrame('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    thinking: thinking =>
      messagesFrame('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking } }),
    call: text =>
      messagesFrame('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json: text } }),
  },
}

function delta(fields: object, finish_reason: string | null = null): string {
  return chatFrame({ choices: [{ index: 0, delta: fields, finish_reason }] })
}

function start(): string {
  const empty = {
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: PROMPT, output_tokens: 1 },
  }
  return messagesFrame('message_start', {
    message: { id: 'msg_vendor', type: 'message', role: 'assistant', model: 'vendor', ...empty },
  })
}

/** How a vendor ends a text that it wants to count as it says. */
const endOf = (protocol: Protocol, output: number): string[] =>
  protocol === 'chat'
    ? [delta({}, 'stop'), chatFrame({ choices: [], usage: used({ input: PROMPT, output }).chat }), 'data: [DONE]\n\n']
    : [
        messagesFrame('content_block_stop', { index: 0 }),
        messagesFrame('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: output } }),
        messagesFrame('message_stop', {}),
      ]

/** An upstream that would write for ever, and says when it is told to stop. */
function endless(kind: Kind): { readonly cancelled: Promise<void> } {
  const { open, opened } = gate()
  stage.answer = visit => {
    visit.signal.addEventListener('abort', open)
    const protocol = protocolOf(visit)
    const frames = [...OPENINGS[protocol][kind], ...pieces(0, 400).map(WRITERS[protocol][kind])]
    return eventStream(frames, 'silence')
  }
  return { cancelled: opened }
}

/** Asks for a stream, and reads of it as much as it is told to. */
async function open(caller: Caller, fields: object = {}) {
  const response = await fetch(stage.duet.url + CHAT, {
    method: 'POST',
    headers: { authorization: `Bearer ${caller.key}` },
    body: JSON.stringify({ model: 'acme/chat', messages: user(QUESTION), stream: true, ...fields }),
  })
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  const read = async () => {
    const { value, done } = (await reader?.read()) ?? { done: true }
    text += decoder.decode(value, { stream: true })
    return !done
  }
  return {
    requestId: idOf(response),
    async until(number: number) {
      while (!text.includes(`<${number}>`) && (await read()));
      expect(text).toContain(`<${number}>`)
    },
    async rest() {
      while (await read());
      return text
    },
  }
}

const finishOf = (text: string) => framesOf(text).flatMap(({ json }) => json?.choices?.[0]?.finish_reason ?? [])

describe('2. Held before spent: a stream is held ahead of need', () => {
  const windows = (tokens: number) => costOf({ input: PROMPT, output: tokens })

  test('the next window is held while half of the last one is left, as often as it takes', async () => {
    const caller = await newCaller(stage.duet)
    const steps = [gate(), gate(), gate(), gate()]
    const [first, second, third, fourth] = steps.map(({ opened }) => opened)
    const text = (from: number, to: number) => pieces(from, to).map(WRITERS.chat.text)
    stage.answer = () =>
      eventStream([
        ...OPENINGS.chat.text,
        ...[...text(0, 20), first ?? '', ...text(20, 21), second ?? '', ...text(21, 61), third ?? ''],
        ...[...text(61, 62), fourth ?? '', ...endOf('chat', 6_200)],
      ])
    const held = (amount: bigint) =>
      eventually(
        () => stage.nanosHeld(caller.account),
        found => found === amount,
      )
    const stream = await open(caller)

    await stream.until(19)
    expect(await stage.nanosHeld(caller.account)).toBe(windows(4_096))
    steps[0]?.open()
    await stream.until(20)
    expect(await held(windows(8_192))).toBe(windows(8_192))
    steps[1]?.open()
    await stream.until(60)
    expect(await stage.nanosHeld(caller.account)).toBe(windows(8_192))
    steps[2]?.open()
    await stream.until(61)
    expect(await held(windows(12_288))).toBe(windows(12_288))
    steps[3]?.open()
    expect(finishOf(await stream.rest())).toEqual(['stop'])
    expect(await stage.nanosHeld(caller.account)).toBe(0n)
    const { receipt } = await stage.receipt(stream.requestId)
    expect(amountOf(receipt.hold.amount)).toBe(windows(12_288))
    expect(amountOf(receipt.arithmetic.total)).toBe(windows(6_200))
  })

  test('no more is held than the limit that was asked for', async () => {
    const caller = await newCaller(stage.duet)
    const looked = gate()
    const frames = pieces(0, 25).map(WRITERS.chat.text)
    stage.answer = () => eventStream([...OPENINGS.chat.text, ...frames, looked.opened, ...endOf('chat', 2_500)])
    const stream = await open(caller, { max_tokens: 5_000 })
    await stream.until(24)
    const held = await eventually(
      () => stage.nanosHeld(caller.account),
      found => found > windows(4_096),
    )
    expect(held).toBe(windows(5_000))
    looked.open()
    expect(finishOf(await stream.rest())).toEqual(['stop'])
  })

  for (const pair of PAIRS) {
    test(`a stream whose whole limit is held is never cut, however we count its text: ${nameOf(pair)}`, async () => {
      const body = { ...QUESTIONS.text, maxTokens: 1_500, stream: true }
      const balance = costOf({ input: promptOf(pair, body), output: 1_500 })
      const caller = await newCaller(stage.duet, { balance: dollarsOf(balance) })
      stage.answer = visit => {
        const protocol = protocolOf(visit)
        const text = pieces(0, 20).map(WRITERS[protocol].text)
        return eventStream([...OPENINGS[protocol].text, ...text, ...endOf(protocol, 1_500)])
      }
      const reply = await ask(stage.as(caller), pair, body)
      expect({ text: reply.text, finish: reply.finish }).toEqual({ text: pieces(0, 20).join(''), finish: 'stop' })
      expect(reply.usage.output).toBe(1_500)
    })
  }

  for (const pair of PAIRS) {
    test(`a stream that brings several windows in one piece goes on while there is money: ${nameOf(pair)}`, async () => {
      const caller = await newCaller(stage.duet)
      const large = pieces(0, 150).join('')
      stage.answer = visit => {
        const protocol = protocolOf(visit)
        const text = [piece(0), large, piece(1)].map(WRITERS[protocol].text)
        return eventStream([...OPENINGS[protocol].text, ...text, ...endOf(protocol, 15_200)])
      }
      const { text, finish } = await ask(stage.as(caller), pair, { ...QUESTIONS.text, stream: true })
      expect({ text: text.length, finish }).toEqual({ text: 152 * 400, finish: 'stop' })
    })
  }

  test('a stream whose end is there needs no more money, even if the last window was full', async () => {
    const caller = await newCaller(stage.duet, { balance: dollarsOf(windows(4_096)) })
    const text = pieces(0, 40).map(WRITERS.chat.text)
    stage.answer = () => eventStream([...OPENINGS.chat.text, ...text, ...endOf('chat', 4_096)])
    const stream = await open(caller)
    expect(finishOf(await stream.rest())).toEqual(['stop'])
    expect(await stage.balance(caller.account)).toBe(0n)
  })
})

const TOOL = { name: 'write', description: 'Writes a file', schema: { type: 'object' } }

const QUESTIONS: Record<Kind, Question> = {
  text: { messages: [{ user: QUESTION }], maxTokens: 60_000 },
  thinking: { messages: [{ user: QUESTION }], maxTokens: 60_000 },
  call: { messages: [{ user: QUESTION }], maxTokens: 60_000, tools: [TOOL] },
}

/** What the gateway takes the whole prompt for. */
function promptOf(pair: Pair, question: Question): number {
  const { messages, tools } = bodyFor(stage, pair, question)
  return Math.ceil((JSON.stringify(messages).length + (tools ? JSON.stringify(tools).length : 0)) / 4)
}

/** Thinking is shown to messages clients that ask for it; for others it is made, and paid, all the same. */
const visibly = ({ client }: Pair): Partial<Question> =>
  client === 'messages' ? { more: { thinking: { type: 'enabled', budget_tokens: 1_024 } } } : {}

const CUTS: readonly [title: string, kind: Kind, more: (pair: Pair) => Partial<Question>, pairs: readonly Pair[]][] = [
  ['in its text', 'text', () => ({}), PAIRS],
  ['inside a tool call', 'call', () => ({}), PAIRS],
  ['inside its thinking', 'thinking', visibly, PAIRS],
  ['inside thinking that is not shown', 'thinking', () => ({}), PAIRS.filter(({ client }) => client === 'messages')],
]

describe('2. Held before spent: a stream that cannot be held any further ends there', () => {
  for (const [title, kind, more, pairs] of CUTS) {
    for (const pair of pairs) {
      const question = { ...QUESTIONS[kind], ...more(pair), stream: true }

      test(`${title}, as one that has reached its limit: ${nameOf(pair)}`, async () => {
        const balance = costOf({ input: promptOf(pair, question), output: 5_000 }) + 1_234n
        const caller = await newCaller(stage.duet, { balance: dollarsOf(balance) })
        const { cancelled } = endless(kind)
        const usage = pair.client === 'chat' ? { stream_options: { include_usage: true } } : {}
        const body = { ...bodyFor(stage, pair, question), ...usage }
        const { text, ...answer } = await post(stage.duet, PATHS[pair.client], body, { key: caller.key })
        await cancelled
        const faults = pair.client === 'chat' ? faultsInChat(text, { usageAsked: true }) : faultsInMessages(text)
        expect(faults).toEqual([])
        await expectShort(caller, { requestId: idOf(answer), balance })
        // Nothing is left that would be worth another call.
        expectError(await post(stage.duet, PATHS[pair.client], body, { key: caller.key }), { status: 403 })
      })

      test(`${title}, which official clients read without complaint: ${nameOf(pair)}`, async () => {
        const balance = costOf({ input: promptOf(pair, question), output: 5_000 })
        const caller = await newCaller(stage.duet, { balance: dollarsOf(balance) })
        endless(kind)
        const reply = await ask(stage.as(caller), pair, question)
        // A vendor that counts a shorter prompt than we did leaves more for the answer: four of its tokens pay for one.
        const saved = pair.upstream === 'messages' ? promptOf(pair, question) - PROMPT : 0
        const output = 5_000 + Math.floor(saved / 4)
        expect({ finish: reply.finish, output: reply.usage.output }).toEqual({ finish: 'length', output })
        const whole = pieces(0, 51).join('')
        if (kind === 'text') expect(reply.text).toBe(whole)
        if (kind === 'thinking') expect(reply.reasoning).toBe(title.includes('not shown') ? '' : whole)
        if (kind === 'call') expect(reply.toolCalls).toMatchObject([{ name: 'write' }])
        const [row] = await stage.usage(caller.account)
        expect(row).toMatchObject({ status: 'ok', ending: 'funds', tokens: { output } })
      })
    }
  }

  /** Charged for what was held and not a billionth more; nothing is left that could have paid for another token. */
  async function expectShort({ account }: Caller, { requestId, balance }: { requestId: string; balance: bigint }) {
    const { receipt, ...row } = await stage.receipt(requestId)
    expect(row).toMatchObject({ status: 'ok', ending: 'funds', source: 'counted' })
    expect(amountOf(receipt.hold.amount)).toBe(balance)
    const left = await stage.balance(account)
    expect(left).toBe(balance - amountOf(row.cost))
    expect(left >= 0n && left < 4_000n).toBe(true)
    expect(await stage.nanosHeld(account)).toBe(0n)
  }

  for (const pair of PAIRS) {
    test(`the cap of a key is such a limit too: ${nameOf(pair)}`, async () => {
      const question = { ...QUESTIONS.text, stream: true }
      const cap = costOf({ input: promptOf(pair, question), output: 5_000 })
      const caller = await newCaller(stage.duet, { cap: dollarsOf(cap) })
      const { cancelled } = endless('text')
      const reply = await ask(stage.as(caller), pair, question)
      await cancelled
      expect({ finish: reply.finish, text: reply.text }).toEqual({ finish: 'length', text: pieces(0, 51).join('') })
      const [row] = await stage.usage(caller.account)
      expect(row).toMatchObject({ status: 'ok', ending: 'funds' })
      const { body } = await stage.duet.admin('GET', `/api/keys/${caller.keyId}`)
      expect(body).toMatchObject({ spent: dollarsOf(cap), remaining: '0.00' })
      const next = await post(stage.duet, PATHS[pair.client], bodyFor(stage, pair, question), { key: caller.key })
      expectError(next, { status: 403, code: 'pre_consume_token_quota_failed' })
    })
  }

  for (const pair of PAIRS) {
    test(`one that began on less than a window too, whatever the upstream makes of its limit: ${nameOf(pair)}`, async () => {
      const question = { ...QUESTIONS.text, stream: true }
      const balance = costOf({ input: promptOf(pair, question), output: 1_500 })
      const caller = await newCaller(stage.duet, { balance: dollarsOf(balance) })
      stage.answer = visit => {
        const protocol = protocolOf(visit)
        const text = pieces(0, 100).map(WRITERS[protocol].text)
        return eventStream([...OPENINGS[protocol].text, ...text, ...endOf(protocol, 10_000)])
      }
      expect((await ask(stage.as(caller), pair, question)).finish).toBe('length')
      expect(await stage.balance(caller.account)).toBe(0n)
      const [row] = await stage.usage(caller.account)
      expect(row).toMatchObject({ status: 'ok', ending: 'funds', tokens: { output: 1_500 } })
    })
  }

  test('each of several answers ends so', async () => {
    const balance = costOf({ input: PROMPT, output: 9_000 })
    const caller = await newCaller(stage.duet, { balance: dollarsOf(balance) })
    stage.answer = () => {
      const both = pieces(0, 200).map((content, place) =>
        chatFrame({ choices: [{ index: place % 2, delta: { content }, finish_reason: null }] }),
      )
      return eventStream(both, 'silence')
    }
    const stream = await open(caller, { n: 2 })
    const chunks = framesOf(await stream.rest()).map(({ json }) => json)
    const finishes = chunks.flatMap(chunk => chunk?.choices ?? []).filter(({ finish_reason }) => finish_reason)
    expect(finishes).toMatchObject([
      { index: 0, finish_reason: 'length' },
      { index: 1, finish_reason: 'length' },
    ])
    await expectShort(caller, { requestId: stream.requestId, balance })
  })

  for (const [title, upTo] of [
    ['before it is needed', 45],
    ['after it was refused', 50],
  ] as const) {
    for (const pair of LIKE) {
      test(`money that comes in the middle, ${title}, lets it go on: ${nameOf(pair)}`, async () => {
        const question = { ...QUESTIONS.text, stream: true }
        const balance = costOf({ input: promptOf(pair, question), output: 5_000 })
        const caller = await newCaller(stage.duet, { balance: dollarsOf(balance) })
        const { opened, open } = gate()
        stage.answer = visit => {
          const protocol = protocolOf(visit)
          const write = (from: number, to: number) => pieces(from, to).map(WRITERS[protocol].text)
          const more = [...write(upTo, 90), ...endOf(protocol, 9_000)]
          return eventStream([...OPENINGS[protocol].text, ...write(0, upTo), opened, ...more])
        }
        const reply = ask(stage.as(caller), pair, question)
        // All there is is held, so it has asked for more and was refused.
        await eventually(
          () => stage.nanosHeld(caller.account),
          held => held === balance,
        )
        await stage.topUp(caller.account, 1_000_000_000n)
        open()
        expect(await reply).toMatchObject({ finish: 'stop', text: pieces(0, 90).join('') })
        const [row] = await stage.usage(caller.account)
        expect(row).toMatchObject({ ending: 'stop', tokens: { output: 9_000 } })
      })
    }
  }

  test('streams that share an account share what is left of it, to the last billionth', async () => {
    const balance = costOf({ input: 0, output: 20_000 })
    const caller = await newCaller(stage.duet, { balance: dollarsOf(balance) })
    endless('text')
    const streams = await Promise.all([open(caller), open(caller), open(caller)])
    const texts = await Promise.all(streams.map(stream => stream.rest()))
    expect(texts.flatMap(finishOf)).toEqual(['length', 'length', 'length'])
    const rows: JsonBody[] = await stage.usage(caller.account)
    expect(rows.map(({ ending }) => ending)).toEqual(['funds', 'funds', 'funds'])
    const spent = rows.reduce((sum, { cost }) => sum + amountOf(cost), 0n)
    const left = await stage.balance(caller.account)
    expect(left).toBe(balance - spent)
    // Each may leave less than the price of a token.
    expect(left >= 0n && left < 12_000n).toBe(true)
  })
})
