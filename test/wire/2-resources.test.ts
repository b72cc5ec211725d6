import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { CHAT, MESSAGES, post, send } from '../support/http.ts'
import { ask, expectErrorObject, idOf, PAIRS, PATHS, PROTOCOLS, read, toolNamed, UPSTREAMS } from '../support/wire.ts'

let duet: Duet
beforeAll(async () => {
  duet = await startDuet()
})
afterAll(() => duet.stop())

const COUNT = expect.any(Number)
const WEATHER = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const QUESTION = 'What is the weather in Oslo?'

describe('2.1-2.2: the model list', () => {
  test('2.1: data is an array of at least one model', async () => {
    const { status, body } = await send(duet, '/v1/models')
    expect(status).toBe(200)
    expect(body.data.length).toBeGreaterThanOrEqual(1)
  })

  test('2.1: the top-level object field is absent', async () => {
    expect((await send(duet, '/v1/models')).body).not.toHaveProperty('object')
  })

  test('2.2: every entry has an id <vendor>/<model> and the object "model"', async () => {
    const { body } = await send(duet, '/v1/models')
    for (const entry of body.data) {
      expect(entry).toMatchObject({ id: expect.stringMatching(/^[^/\s]+\/\S+$/), object: 'model' })
    }
  })
})

const CALL = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } }
const { type: _, ...UNTYPED_CALL } = CALL
const RESULT = { role: 'tool', tool_call_id: 'call_1', content: 'Rain, 7 degrees' }
const ASKED = { role: 'user', content: QUESTION }

const CHAT_CONVERSATIONS = [
  { title: '2.3: role system', messages: [{ role: 'system', content: 'Be brief.' }, ASKED] },
  { title: '2.3: role user', messages: [ASKED] },
  { title: '2.3: role assistant', messages: [ASKED, { role: 'assistant', content: 'Rain.' }, ASKED] },
  { title: '2.3: role tool', messages: [ASKED, { role: 'assistant', content: 'Wait.', tool_calls: [CALL] }, RESULT] },
  { title: '2.3: a name', messages: [{ ...ASKED, name: 'ada' }] },
  {
    title: '2.3: content null on an assistant message that only carries tool_calls',
    messages: [ASKED, { role: 'assistant', content: null, tool_calls: [CALL] }, RESULT],
  },
  {
    title: '2.3: no content on an assistant message that only carries tool_calls',
    messages: [ASKED, { role: 'assistant', tool_calls: [CALL] }, RESULT],
  },
  {
    title: '2.4: text parts',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is the' },
          { type: 'text', text: 'weather in Oslo?' },
        ],
      },
    ],
  },
  {
    title: '2.4: text parts in every role',
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
      ASKED,
      { role: 'assistant', content: [{ type: 'text', text: 'Wait.' }], tool_calls: [CALL] },
      { ...RESULT, content: [{ type: 'text', text: 'Rain' }] },
    ],
  },
  {
    title: '2.6: a tool call without its type',
    messages: [ASKED, { role: 'assistant', content: null, tool_calls: [UNTYPED_CALL] }, RESULT],
  },
]

describe('2.3-2.6: chat requests', () => {
  for (const { title, messages } of CHAT_CONVERSATIONS) {
    for (const { upstream, model } of UPSTREAMS) {
      test(`${title} is accepted over a ${upstream} upstream`, async () => {
        const { status, body } = await post(duet, CHAT, { model, messages })
        expect({ status, error: body.error }).toEqual({ status: 200, error: undefined })
      })
    }
  }

  for (const { upstream, model } of UPSTREAMS) {
    test(`2.3: tool_call_id ties an answer to its call over a ${upstream} upstream`, async () => {
      const messages = [ASKED, { role: 'assistant', content: null, tool_calls: [CALL] }, RESULT]
      const { body } = await post(duet, CHAT, { model, messages, ...toolNamed('chat', 'get_weather', WEATHER) })
      expect(read('chat', body)).toMatchObject({ text: expect.stringContaining('Rain, 7 degrees'), stop: 'stop' })
    })

    test(`2.5: description and parameters of a tool are optional over a ${upstream} upstream`, async () => {
      const tools = [{ type: 'function', function: { name: 'get_weather' } }]
      const { status, body } = await post(duet, CHAT, ask('chat', model, QUESTION, { tools }))
      expect(status).toBe(200)
      expect(read('chat', body).calls).toEqual([{ id: expect.any(String), name: 'get_weather', input: {} }])
    })

    test(`2.6: a tool call has an id, a name and arguments that parse, over a ${upstream} upstream`, async () => {
      const { body } = await post(duet, CHAT, ask('chat', model, QUESTION, toolNamed('chat', 'get_weather', WEATHER)))
      const [call] = body.choices[0].message.tool_calls
      expect(JSON.parse(call.function.arguments)).toEqual({ city: expect.any(String) })
      expect(call).toMatchObject({
        id: expect.stringMatching(/./),
        type: 'function',
        function: { name: 'get_weather', arguments: expect.any(String) },
      })
    })
  }
})

describe('2.7: the chat completion', () => {
  for (const { upstream, model, thinker } of UPSTREAMS) {
    test(`2.7: choices and usage over a ${upstream} upstream`, async () => {
      const { status, headers, body } = await post(duet, CHAT, ask('chat', model, 'Hi'))
      expect(status).toBe(200)
      expect(headers.get('content-type')).toMatch(/^application\/json\b/)
      expect(Number.isInteger(body.created)).toBe(true)
      expect(body).toMatchObject({
        id: expect.any(String),
        object: 'chat.completion',
        created: expect.any(Number),
        model,
        choices: [{ index: 0, message: { role: 'assistant', content: expect.any(String) }, finish_reason: 'stop' }],
        usage: { prompt_tokens: COUNT, completion_tokens: COUNT, total_tokens: COUNT },
      })
    })

    test(`2.7: total_tokens is the sum of the two over a ${upstream} upstream`, async () => {
      const { usage } = (await post(duet, CHAT, ask('chat', model, 'Hi'))).body
      expect(usage.prompt_tokens).toBeGreaterThan(0)
      expect(usage.completion_tokens).toBeGreaterThan(0)
      expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens)
    })

    test(`2.7: finish_reason is length for a truncated text over a ${upstream} upstream`, async () => {
      const { body } = await post(duet, CHAT, ask('chat', model, 'Hi', { max_tokens: 3 }))
      expect(body.choices[0].finish_reason).toBe('length')
    })

    test(`2.7: a reasoning model adds reasoning_content over a ${upstream} upstream`, async () => {
      const { message } = (await post(duet, CHAT, ask('chat', thinker, 'Hi'))).body.choices[0]
      expect(message).toMatchObject({ content: expect.any(String), reasoning_content: expect.stringMatching(/./) })
    })

    test(`2.7: completion_tokens includes reasoning that is not in content, over a ${upstream} upstream`, async () => {
      const { body } = await post(duet, CHAT, ask('chat', thinker, 'Hi'))
      const plain = await post(duet, CHAT, ask('chat', model, 'Hi'))
      expect(body.usage.completion_tokens).toBeGreaterThan(plain.body.usage.completion_tokens + 100)
    })
  }
})

const USE = { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Oslo' } }
const ANSWERED = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'Rain, 7 degrees' }

const MESSAGES_CONVERSATIONS = [
  { title: '2.8: role user', messages: [ASKED] },
  { title: '2.8: role assistant', messages: [ASKED, { role: 'assistant', content: 'Rain.' }, ASKED] },
  { title: '2.8: text blocks', messages: [{ role: 'user', content: [{ type: 'text', text: QUESTION }] }] },
  {
    title: '2.8: tool_use and tool_result blocks',
    messages: [ASKED, { role: 'assistant', content: [USE] }, { role: 'user', content: [ANSWERED] }],
  },
  {
    title: '2.8: text beside a tool_use and beside a tool_result',
    messages: [
      ASKED,
      { role: 'assistant', content: [{ type: 'text', text: 'Wait.' }, USE] },
      { role: 'user', content: [ANSWERED, { type: 'text', text: 'And now?' }] },
    ],
  },
  {
    title: '2.8: a tool_result with blocks in it',
    messages: [
      ASKED,
      { role: 'assistant', content: [USE] },
      { role: 'user', content: [{ ...ANSWERED, content: [{ type: 'text', text: 'Rain' }] }] },
    ],
  },
  {
    title: '2.8: a tool_result that is an error',
    messages: [
      ASKED,
      { role: 'assistant', content: [USE] },
      { role: 'user', content: [{ ...ANSWERED, is_error: true }] },
    ],
  },
]

describe('2.8-2.9: messages requests', () => {
  for (const { title, messages } of MESSAGES_CONVERSATIONS) {
    for (const { upstream, model } of UPSTREAMS) {
      test(`${title} accepted over a ${upstream} upstream`, async () => {
        const request = { model, max_tokens: 200, messages, ...toolNamed('messages', 'get_weather', WEATHER) }
        const { status, body } = await post(duet, MESSAGES, request)
        expect({ status, error: body.error }).toEqual({ status: 200, error: undefined })
      })
    }
  }

  for (const { upstream, model } of UPSTREAMS) {
    test(`2.8: a tool_result answers the tool_use of its id over a ${upstream} upstream`, async () => {
      const messages = [ASKED, { role: 'assistant', content: [USE] }, { role: 'user', content: [ANSWERED] }]
      const request = { model, max_tokens: 200, messages, ...toolNamed('messages', 'get_weather', WEATHER) }
      const { body } = await post(duet, MESSAGES, request)
      expect(read('messages', body)).toMatchObject({
        text: expect.stringContaining('Rain, 7 degrees'),
        stop: 'end_turn',
      })
    })

    test(`2.9: the description of a tool is optional and reaches the model over a ${upstream} upstream`, async () => {
      const tools = [{ name: 'fn', description: 'Tells the weather of a city', input_schema: WEATHER }]
      const { body } = await post(duet, MESSAGES, ask('messages', model, QUESTION, { tools }))
      expect(read('messages', body).calls).toMatchObject([{ name: 'fn' }])
    })
  }
})

describe('2.10: the messages response', () => {
  for (const { upstream, model, thinker } of UPSTREAMS) {
    test(`2.10: all members of a text answer over a ${upstream} upstream`, async () => {
      const { status, headers, body } = await post(duet, MESSAGES, ask('messages', model, 'Hi'))
      expect(status).toBe(200)
      expect(headers.get('content-type')).toMatch(/^application\/json\b/)
      expect(body).toMatchObject({
        type: 'message',
        role: 'assistant',
        model,
        content: [{ type: 'text', text: expect.stringMatching(/./) }],
        stop_reason: 'end_turn',
        usage: { input_tokens: COUNT, output_tokens: COUNT },
      })
    })

    test(`2.10: the id is a bare hexadecimal string over a ${upstream} upstream`, async () => {
      const { body } = await post(duet, MESSAGES, ask('messages', model, 'Hi'))
      expect(body.id).toMatch(/^[0-9a-f]+$/)
    })

    test(`2.10: a tool_use block has an id, a name and an input object over a ${upstream} upstream`, async () => {
      const request = ask('messages', model, QUESTION, toolNamed('messages', 'get_weather', WEATHER))
      const { body } = await post(duet, MESSAGES, request)
      expect(body.content).toContainEqual({
        type: 'tool_use',
        id: expect.stringMatching(/./),
        name: 'get_weather',
        input: { city: expect.any(String) },
      })
    })

    test(`2.10: stop_reason is max_tokens for a truncated text over a ${upstream} upstream`, async () => {
      const { body } = await post(duet, MESSAGES, ask('messages', model, 'Hi', { max_tokens: 3 }))
      expect(body.stop_reason).toBe('max_tokens')
    })

    test(`2.10: a block is text or tool_use, also where the model reasons, over a ${upstream} upstream`, async () => {
      const { body } = await post(duet, MESSAGES, ask('messages', thinker, 'Hi'))
      expect(body.content.map(({ type }: JsonBody) => type)).toEqual(['text'])
    })

    test(`2.10: output_tokens includes the reasoning over a ${upstream} upstream`, async () => {
      const { body } = await post(duet, MESSAGES, ask('messages', thinker, 'Hi'))
      const plain = await post(duet, MESSAGES, ask('messages', model, 'Hi'))
      expect(body.usage.output_tokens).toBeGreaterThan(plain.body.usage.output_tokens + 100)
    })
  }
})

describe('2.11: the error body', () => {
  for (const protocol of PROTOCOLS) {
    test(`2.11: every error of ${protocol} has the wrapper, a message with the request id, a type and a code`, async () => {
      const bad = ['{', '{}', JSON.stringify({ model: 'no/such' }), JSON.stringify({ model: UPSTREAMS[0].model })]
      for (const body of bad) {
        const answer = await post(duet, PATHS[protocol], body)
        expect(answer.status).toBeGreaterThanOrEqual(400)
        expectErrorObject(answer.body.error, idOf(answer), {})
      }
    })

    test(`2.11: the id differs per call of ${protocol}`, async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => post(duet, PATHS[protocol], '{')))
      expect(new Set(answers.map(idOf)).size).toBe(20)
    })
  }

  test('2.11: the generic type is duet_api_error', async () => {
    expect((await post(duet, CHAT, '{}', { key: null })).body.error.type).toBe('duet_api_error')
  })

  for (const { title, protocol, path, model } of PAIRS) {
    test(`2.11: a success carries the request id in both headers: ${title}`, async () => {
      for (const stream of [false, true]) {
        const answer = await post(duet, path, ask(protocol, model, 'Hi', { stream }))
        expect(answer.status).toBe(200)
        idOf(answer)
      }
    })
  }
})
