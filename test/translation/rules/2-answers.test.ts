import { describe, expect, test } from 'bun:test'
import type { JsonBody } from '../../support/duet.ts'
import { call, idOfKind, text, use, useKinds } from './stage.ts'

/** Sections 2.1 and 2.2: whole answers of the other protocol. */

const stage = useKinds({ chat: { protocol: 'chat' }, messages: { protocol: 'messages' } })

const usage = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }
const ASKED = { thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 4000 }

/** A chat upstream says this to a messages caller. */
async function fromChat(message: object, more: object = {}, fields: object = {}) {
  const choices = [
    { index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: 'stop', ...more },
  ]
  const answer = () =>
    Response.json({ id: 'chatcmpl-v', object: 'chat.completion', created: 1, model: 'v', choices, usage })
  return stage.ask('messages', 'chat', fields, { answer })
}

/** A messages upstream says this to a chat caller. */
async function fromMessages(content: readonly object[], more: object = {}) {
  const head = {
    id: 'msg_v',
    type: 'message',
    role: 'assistant',
    model: 'v',
    stop_reason: 'end_turn',
    stop_sequence: null,
  }
  const answer = () => Response.json({ ...head, content, usage: { input_tokens: 7, output_tokens: 5 }, ...more })
  return stage.ask('chat', 'messages', {}, { answer })
}

describe('2.1: a chat answer as a message', () => {
  const content = async (message: object, more: object = {}, fields: object = {}): Promise<JsonBody[]> =>
    (await fromChat(message, more, fields)).body.content

  test('has the shape of one', async () => {
    const { body } = await fromChat({ content: 'Hi' })
    expect(body).toMatchObject({
      type: 'message',
      role: 'assistant',
      model: idOfKind('chat'),
      content: [{ type: 'text', text: 'Hi' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 7, output_tokens: 5 },
    })
    expect(body.id).toMatch(/^[0-9a-f]{32}$/)
    expect(Object.keys(body.content[0]).sort()).toEqual(['text', 'type'])
  })

  for (const field of ['reasoning_content', 'reasoning']) {
    test(`shows ${field} as a thought to a caller who asked for thoughts`, async () => {
      expect(await content({ content: 'Hi', [field]: 'hm' }, {}, ASKED)).toEqual([
        { type: 'thinking', thinking: 'hm', signature: '' },
        text('Hi'),
      ])
    })

    test(`shows no ${field} to one who did not`, async () => {
      expect(await content({ content: 'Hi', [field]: 'hm' })).toEqual([text('Hi')])
    })
  }

  test('shows a thought once, whatever the fields that tell it', async () => {
    const blocks = await content({ content: 'Hi', reasoning_content: 'hm', reasoning: 'hm' }, {}, ASKED)
    expect(blocks.filter(({ type }) => type === 'thinking')).toHaveLength(1)
  })

  test('is one text of several parts', async () => {
    const blocks = await content({ content: [text('a'), text('b')] })
    expect(blocks.map(block => block.text).join('')).toBe('ab')
  })

  test('is a refusal where it is one', async () => {
    const { body } = await fromChat({ refusal: 'I will not' })
    expect(body.content).toEqual([text('I will not')])
    expect(body.stop_reason).toBe('refusal')
  })

  test('has an empty text where there is nothing at all', async () => {
    for (const nothing of [{}, { content: '' }, { content: null, tool_calls: [] }])
      expect(await content(nothing)).toEqual([text('')])
  })

  test('has text and calls, none empty', async () => {
    const tool_calls = [call('c1', 'f', '{"a":1}'), call('c2', 'g', '{}')]
    expect(await content({ content: 'so', tool_calls })).toEqual([text('so'), use('c1', 'f', { a: 1 }), use('c2', 'g')])
    expect(await content({ content: '', tool_calls })).toHaveLength(2)
  })

  test('has a legacy call, too', async () => {
    const [block, ...rest] = await content(
      { function_call: { name: 'f', arguments: '{"a":1}' } },
      { finish_reason: 'function_call' },
    )
    expect(block).toEqual(use(block?.id, 'f', { a: 1 }))
    expect(block?.id).toMatch(/^[A-Za-z0-9_-]+$/)
    expect(rest).toEqual([])
  })

  test('has legal ids, and one where there was none', async () => {
    const tool_calls = [call('call:1'), { ...call(''), id: undefined }, call('')]
    const ids = (await content({ tool_calls })).map(({ id }) => id)
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]+$/)
    expect(new Set(ids).size).toBe(3)
  })

  test('has an object for every call, the text exact', async () => {
    const rows = [
      ['', '{}'],
      ['null', '{}'],
      ['{"n":12345678901234567890,"10":1,"2":2}', '{"n":12345678901234567890,"10":1,"2":2}'],
    ] as const
    for (const [made, wanted] of rows) {
      expect((await fromChat({ tool_calls: [call('c1', 'f', made)] })).text).toContain(`"input":${wanted}`)
    }
    expect(await content({ tool_calls: [call('c1', 'f', '[1]')] })).toEqual([use('c1', 'f', { raw_arguments: '[1]' })])
  })

  test('has an object for a call that was cut', async () => {
    const { body } = await fromChat({ tool_calls: [call('c1', 'f', '{"a":"b')] }, { finish_reason: 'length' })
    expect(body.content[0].input).toBeObject()
    expect(body.stop_reason).toBe('max_tokens')
  })

  test('adds no members that clients stumble over', async () => {
    const { text } = await fromChat({ content: 'a', tool_calls: [call('c1')] }, {}, ASKED)
    expect(text).not.toMatch(/"citations"|"caller"/)
  })

  const BROKEN = [
    { choices: [] },
    {},
    { choices: null },
    { error: { message: 'overloaded' } },
    { choices: [], error: 'x' },
  ]
  for (const broken of BROKEN) {
    test(`is an error where it is ${JSON.stringify(broken)}`, async () => {
      const played = await stage.ask('messages', 'chat', {}, { answer: () => Response.json(broken) })
      expect(played.status).toBeGreaterThanOrEqual(500)
      expect(played.body).toMatchObject({ type: 'error', error: { code: expect.any(String) } })
    })
  }
})

describe('2.2: a message as a chat answer', () => {
  const message = async (content: readonly object[]) => (await fromMessages(content)).body.choices[0].message

  test('has the shape of one', async () => {
    const before = Math.floor(Date.now() / 1000)
    const { body } = await fromMessages([text('Hi')])
    expect(body).toMatchObject({
      object: 'chat.completion',
      model: idOfKind('messages'),
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
    })
    expect(body.choices).toHaveLength(1)
    expect(body.id).toMatch(/^chatcmpl-[0-9a-f]+$/)
    expect(body.created).toBeWithin(before, before + 60)
  })

  test('joins neighbouring texts, and parts those that something stands between', async () => {
    const server = { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} }
    const found = { type: 'web_search_tool_result', tool_use_id: 's1', content: [] }
    const { content, ...rest } = await message([text('a'), text('b'), server, found, text('c')])
    expect(content).toBe('ab\n\nc')
    expect(rest).not.toHaveProperty('tool_calls')
  })

  test('has no content where there are only calls', async () => {
    expect((await message([use('t1')])).content).toBeNull()
  })

  test('has its calls in order, their arguments as text', async () => {
    const { tool_calls, content } = await message([text('so'), use('t1', 'f', { a: 1 }), use('t2', 'g')])
    expect(tool_calls).toEqual([call('t1', 'f', '{"a":1}'), call('t2', 'g', '{}')])
    expect(content).toBe('so')
  })

  test('keeps the text of arguments', async () => {
    const input = '{"n":12345678901234567890,"10":1,"2":2}'
    const body = `{"id":"msg_v","type":"message","role":"assistant","model":"v","content":[{"type":"tool_use","id":"t1","name":"f","input":${input}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`
    const answer = () => new Response(body, { headers: { 'content-type': 'application/json' } })
    const played = await stage.ask('chat', 'messages', {}, { answer })
    expect(played.body.choices[0].message.tool_calls[0].function.arguments).toBe(input)
  })

  test('has thoughts beside its content, and neither signatures nor what is hidden', async () => {
    const thought = (thinking: string) => ({ type: 'thinking', thinking, signature: 'c2ln' })
    const played = await fromMessages([
      thought('h'),
      thought('m'),
      { type: 'redacted_thinking', data: 'b3BhcXVl' },
      text('Hi'),
    ])
    expect(played.body.choices[0].message).toMatchObject({ content: 'Hi', reasoning_content: 'hm' })
    expect(played.text).not.toMatch(/c2ln|b3BhcXVl|reasoning_details/)
  })

  test('has no thoughts where there were none', async () => {
    expect((await message([text('Hi')])).reasoning_content ?? null).toBeNull()
    expect((await message([{ type: 'redacted_thinking', data: 'x' }, text('Hi')])).reasoning_content ?? null).toBeNull()
  })

  test('is an error where the message is one', async () => {
    const answer = () => Response.json({ type: 'error', error: { type: 'overloaded_error', message: 'busy' } })
    const played = await stage.ask('chat', 'messages', {}, { answer })
    expect(played.status).toBeGreaterThanOrEqual(400)
    expect(played.body.error).toBeObject()
  })
})
