import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { CHAT, framesOf, MESSAGES, post, send, user } from '../support/http.ts'
import {
  ask,
  balanceOf,
  expectError,
  newCaller,
  PAIRS,
  PATHS,
  PROTOCOLS,
  type ProtocolName,
  read,
  toolNamed,
  UPSTREAMS,
} from '../support/wire.ts'

let duet: Duet
beforeAll(async () => {
  duet = await startDuet()
})
afterAll(() => duet.stop())

const MODEL = UPSTREAMS[0].model
const WEATHER = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const QUESTION = 'What is the weather in Oslo?'

describe('4.1-4.2: required fields', () => {
  const absent = (field: string) => ({ field, status: 500, message: `field ${field} is required` })
  const ROWS = [
    { protocols: PROTOCOLS, more: { model: undefined }, ...absent('model') },
    { protocols: PROTOCOLS, more: { model: '' }, ...absent('model') },
    { protocols: PROTOCOLS, more: { messages: undefined }, ...absent('messages') },
    { protocols: PROTOCOLS, more: { messages: [] }, ...absent('messages') },
    { protocols: PROTOCOLS, more: { messages: null }, ...absent('messages') },
    { protocols: PROTOCOLS, more: { messages: 'Hi' }, ...absent('messages') },
    { protocols: PROTOCOLS, more: { messages: { role: 'user', content: 'Hi' } }, ...absent('messages') },
    { protocols: ['messages'] as const, more: { max_tokens: undefined }, ...absent('max_tokens') },
  ]
  for (const { protocols, more, field, status, message } of ROWS) {
    for (const protocol of protocols) {
      const given = Object.entries(more).map(([name, value]) => `${name}: ${JSON.stringify(value) ?? 'absent'}`)
      test(`4: ${given} gives 500 invalid_request (${protocol})`, async () => {
        const answer = await post(duet, PATHS[protocol], ask(protocol, MODEL, 'Hi', more))
        const wanted = { code: 'invalid_request', type: 'duet_api_error' as const, param: field }
        expectError(answer, { status, message, protocol, ...wanted })
      })
    }
  }

  test('4.1: max_tokens is not required in chat completions', async () => {
    expect((await post(duet, CHAT, { model: MODEL, messages: user('Hi') })).status).toBe(200)
  })

  for (const protocol of PROTOCOLS) {
    for (const model of [42, ['openai/gpt-4.1'], { id: 'openai/gpt-4.1' }, true]) {
      test(`4: a model that is not a string, ${JSON.stringify(model)}, gives 400 (${protocol})`, async () => {
        const answer = await post(duet, PATHS[protocol], ask(protocol, MODEL, 'Hi', { model }))
        expectError(answer, { status: 400, param: 'model', protocol })
      })
    }
  }
})

const call = (fields: object) => ({
  id: 'call_1',
  type: 'function',
  function: { name: 'f', arguments: '{}' },
  ...fields,
})
const calling = (...calls: object[]) => [...user('Hi'), { role: 'assistant', content: null, tool_calls: calls }]
const tool = (fields: object) => ({ tools: [{ type: 'function', function: fields }] })

/** Section 4 with decisions "Order of checks", 9: the message names the field and `param` holds its path. */
const WRONG: Record<ProtocolName, readonly { param: string; more: object }[]> = {
  chat: [
    { param: 'max_tokens', more: { max_tokens: 0 } },
    { param: 'max_tokens', more: { max_tokens: -1 } },
    { param: 'max_tokens', more: { max_tokens: 1.5 } },
    { param: 'max_tokens', more: { max_tokens: '12' } },
    { param: 'max_completion_tokens', more: { max_completion_tokens: 0 } },
    { param: 'max_completion_tokens', more: { max_completion_tokens: 2.5 } },
    { param: 'max_completion_tokens', more: { max_completion_tokens: '12' } },
    { param: 'messages[0]', more: { messages: ['Hi'] } },
    { param: 'messages[0].role', more: { messages: [{ content: 'Hi' }] } },
    { param: 'messages[0].role', more: { messages: [{ role: 'robot', content: 'Hi' }] } },
    { param: 'messages[1].role', more: { messages: [...user('Hi'), { role: 7, content: 'Hi' }] } },
    { param: 'messages[0].content', more: { messages: user(42) } },
    { param: 'messages[0].content', more: { messages: user({ type: 'text', text: 'Hi' }) } },
    { param: 'messages[0].content[0].text', more: { messages: user([{ type: 'text' }]) } },
    {
      param: 'messages[0].content[1].text',
      more: {
        messages: user([
          { type: 'text', text: 'Hi' },
          { type: 'text', text: 1 },
        ]),
      },
    },
    { param: 'messages[0].content[0].image_url', more: { messages: user([{ type: 'image_url' }]) } },
    { param: 'messages[0].content[0].image_url.url', more: { messages: user([{ type: 'image_url', image_url: {} }]) } },
    { param: 'messages[0].name', more: { messages: [{ role: 'user', content: 'Hi', name: 7 }] } },
    { param: 'messages[2].tool_call_id', more: { messages: [...calling(call({})), { role: 'tool', content: 'x' }] } },
    { param: 'messages[1].tool_calls', more: { messages: [...user('Hi'), { role: 'assistant', tool_calls: {} }] } },
    { param: 'messages[1].tool_calls[0].id', more: { messages: calling(call({ id: undefined })) } },
    {
      param: 'messages[1].tool_calls[0].function.name',
      more: { messages: calling(call({ function: { arguments: '{}' } })) },
    },
    {
      param: 'messages[1].tool_calls[0].function.arguments',
      more: { messages: calling(call({ function: { name: 'f', arguments: {} } })) },
    },
    { param: 'stream', more: { stream: 'yes' } },
    { param: 'stream_options', more: { stream: true, stream_options: 'usage' } },
    { param: 'stream_options.include_usage', more: { stream: true, stream_options: { include_usage: 'yes' } } },
    { param: 'tools', more: { tools: {} } },
    { param: 'tools[0]', more: { tools: ['f'] } },
    { param: 'tools[0].function', more: { tools: [{ type: 'function' }] } },
    { param: 'tools[0].function.name', more: tool({ description: 'x' }) },
    { param: 'tools[0].function.description', more: tool({ name: 'f', description: 7 }) },
    { param: 'tools[0].function.parameters', more: tool({ name: 'f', parameters: 'none' }) },
    { param: 'tool_choice', more: { ...tool({ name: 'f' }), tool_choice: 'maybe' } },
    { param: 'tool_choice', more: { ...tool({ name: 'f' }), tool_choice: 7 } },
    { param: 'response_format', more: { response_format: 'json_object' } },
    { param: 'response_format.type', more: { response_format: { type: 'xml' } } },
  ],
  messages: [
    { param: 'max_tokens', more: { max_tokens: 0 } },
    { param: 'max_tokens', more: { max_tokens: -1 } },
    { param: 'max_tokens', more: { max_tokens: 1.5 } },
    { param: 'max_tokens', more: { max_tokens: '12' } },
    { param: 'messages[0]', more: { messages: ['Hi'] } },
    { param: 'messages[0].role', more: { messages: [{ content: 'Hi' }] } },
    { param: 'messages[0].role', more: { messages: [{ role: 'tool', content: 'Hi' }] } },
    { param: 'messages[0].content', more: { messages: [{ role: 'user' }] } },
    { param: 'messages[0].content', more: { messages: user(42) } },
    { param: 'messages[0].content', more: { messages: user({ type: 'text', text: 'Hi' }) } },
    { param: 'messages[0].content[0]', more: { messages: user(['Hi']) } },
    { param: 'system', more: { system: 42 } },
    { param: 'stream', more: { stream: 'yes' } },
    { param: 'tools', more: { tools: {} } },
    { param: 'tools[0]', more: { tools: ['f'] } },
    { param: 'tools[0].name', more: { tools: [{ input_schema: WEATHER }] } },
    { param: 'tools[0].description', more: { tools: [{ name: 'f', description: 7, input_schema: WEATHER }] } },
    { param: 'tools[0].input_schema', more: { tools: [{ name: 'f' }] } },
    { param: 'tools[0].input_schema', more: { tools: [{ name: 'f', input_schema: 'none' }] } },
  ],
}

describe('4.1-4.2: fields of the wrong type or range', () => {
  for (const protocol of PROTOCOLS) {
    for (const { param, more } of WRONG[protocol]) {
      test(`4: ${JSON.stringify(more)} gives 400 with param ${param} (${protocol})`, async () => {
        for (const { model } of UPSTREAMS) {
          const answer = await post(duet, PATHS[protocol], ask(protocol, model, 'Hi', more))
          const error = expectError(answer, { status: 400, code: 'invalid_request', param, protocol })
          expect(error.message).toContain(param)
        }
      })
    }
  }
})

/** Decisions, "Order of checks", 9: `null` counts as absent for every optional field. */
const NULLS: Record<ProtocolName, object> = {
  chat: {
    messages: [{ role: 'user', content: 'Hi', name: null, tool_calls: null, tool_call_id: null }],
    stream: null,
    stream_options: null,
    tools: null,
    tool_choice: null,
    response_format: null,
    max_tokens: null,
    max_completion_tokens: null,
  },
  messages: { system: null, tools: null, stream: null },
}

const NULLS_OF_TOOLS: Record<ProtocolName, object> = {
  chat: tool({ name: 'f', description: null, parameters: null }),
  messages: { tools: [{ name: 'f', description: null, input_schema: { type: 'object' } }] },
}

describe('4.1-4.2: optional fields', () => {
  for (const { title, protocol, path, model } of PAIRS) {
    test(`4: null counts as absent for every optional field: ${title}`, async () => {
      const { status, body } = await post(duet, path, ask(protocol, model, 'Hi', NULLS[protocol]))
      expect({ status, error: body.error }).toEqual({ status: 200, error: undefined })
      expect(read(protocol, body).text).toContain('Hi')
    })

    test(`4: null counts as absent inside of tools: ${title}`, async () => {
      const { status, body } = await post(duet, path, ask(protocol, model, 'Hi', NULLS_OF_TOOLS[protocol]))
      expect({ status, error: body.error }).toEqual({ status: 200, error: undefined })
    })

    test(`4: stream false, the default, gives JSON: ${title}`, async () => {
      const { headers, body } = await post(duet, path, ask(protocol, model, 'Hi', { stream: false }))
      expect(headers.get('content-type')).toMatch(/^application\/json\b/)
      expect(read(protocol, body).text).toContain('Hi')
    })

    test(`4: stream true gives text/event-stream: ${title}`, async () => {
      const { status, headers, text } = await post(duet, path, ask(protocol, model, 'Hi', { stream: true }))
      expect(status).toBe(200)
      expect(headers.get('content-type')).toMatch(/^text\/event-stream\b/)
      expect(framesOf(text).length).toBeGreaterThan(2)
    })

    test(`4: max_tokens truncates: ${title}`, async () => {
      const whole = await post(duet, path, ask(protocol, model, 'Hi'))
      const { body } = await post(duet, path, ask(protocol, model, 'Hi', { max_tokens: 3 }))
      const { text, stop } = read(protocol, body)
      expect(stop).toBe(protocol === 'chat' ? 'length' : 'max_tokens')
      expect(read(protocol, whole.body).text).toStartWith(text)
      expect(text.length).toBeLessThan(read(protocol, whole.body).text.length)
    })
  }

  for (const { upstream, model } of UPSTREAMS) {
    test(`4.1: max_completion_tokens truncates over a ${upstream} upstream`, async () => {
      const { body } = await post(duet, CHAT, ask('chat', model, 'Hi', { max_completion_tokens: 3 }))
      expect(read('chat', body)).toMatchObject({ stop: 'length', output: 3 })
    })

    for (const format of ['text', 'json_object']) {
      test(`4.1: response_format ${format} is accepted over a ${upstream} upstream`, async () => {
        const request = ask('chat', model, 'Hi', { response_format: { type: format } })
        expect((await post(duet, CHAT, request)).status).toBe(200)
      })
    }

    test(`4.1: with json_object the content is valid JSON over a ${upstream} upstream`, async () => {
      const request = ask('chat', model, 'Answer in JSON', { response_format: { type: 'json_object' } })
      const { body } = await post(duet, CHAT, request)
      expect(JSON.parse(read('chat', body).text)).toBeObject()
    })

    test(`4.2: system is a top-level parameter that reaches the model over a ${upstream} upstream`, async () => {
      const { body } = await post(duet, MESSAGES, ask('messages', model, 'Hi', { system: 'Speak like a pirate.' }))
      expect(read('messages', body).text).toContain('pirate')
    })
  }
})

/** Decisions, "Order of checks", 9: roles beyond those of the contract. */
const ROLES: Record<ProtocolName, readonly { role: string; messages: object[]; reads?: string }[]> = {
  chat: [
    {
      role: 'developer',
      messages: [{ role: 'developer', content: 'Speak like a pirate.' }, ...user('Hi')],
      reads: 'pirate',
    },
    {
      role: 'function',
      messages: [
        ...user('What is the weather?'),
        { role: 'assistant', content: null, function_call: { name: 'get_weather', arguments: '{}' } },
        { role: 'function', name: 'get_weather', content: 'Rain, 7 degrees' },
      ],
    },
  ],
  messages: [{ role: 'system', messages: [{ role: 'system', content: 'Speak like a pirate.' }, ...user('Hi')] }],
}

describe('4: roles beyond the contract', () => {
  for (const { title, protocol, path, model } of PAIRS) {
    for (const { role, messages, reads } of ROLES[protocol]) {
      test(`4: role ${role} is accepted: ${title}`, async () => {
        const { status, body } = await post(duet, path, ask(protocol, model, '', { messages }))
        expect({ status, error: body.error }).toEqual({ status: 200, error: undefined })
        if (reads) expect(read(protocol, body).text).toContain(reads)
      })
    }
  }
})

const CHOICES: Record<ProtocolName, Record<'auto' | 'none' | 'required' | 'named', unknown>> = {
  chat: {
    auto: 'auto',
    none: 'none',
    required: 'required',
    named: { type: 'function', function: { name: 'get_weather' } },
  },
  messages: {
    auto: { type: 'auto' },
    none: { type: 'none' },
    required: { type: 'any' },
    named: { type: 'tool', name: 'get_weather' },
  },
}

describe('4.1 rule 1, 4.2 rule 1: tool calls', () => {
  for (const { title, protocol, path, model, thinker } of PAIRS) {
    const tools = toolNamed(protocol, 'get_weather', WEATHER)
    const CALLED = { stop: protocol === 'chat' ? 'tool_calls' : 'tool_use', calls: [{ name: 'get_weather' }] }
    const SAID = { stop: protocol === 'chat' ? 'stop' : 'end_turn', calls: [] }
    const ROWS = [
      { choice: 'auto', question: QUESTION, reads: CALLED },
      { choice: 'auto', question: 'Hi', reads: SAID },
      { choice: 'none', question: QUESTION, reads: SAID },
      { choice: 'required', question: 'Hi', reads: CALLED },
      { choice: 'named', question: 'Hi', reads: CALLED },
    ] as const

    for (const { choice, question, reads } of ROWS) {
      test(`4: tool_choice ${choice} on "${question}" ends with ${reads.stop}: ${title}`, async () => {
        for (const id of [model, thinker]) {
          const request = ask(protocol, id, question, { ...tools, tool_choice: CHOICES[protocol][choice] })
          const { status, body } = await post(duet, path, request)
          expect(status).toBe(200)
          expect(read(protocol, body)).toMatchObject(reads)
        }
      })
    }

    test(`4: without tool_choice the model chooses: ${title}`, async () => {
      const { body } = await post(duet, path, ask(protocol, model, QUESTION, tools))
      expect(read(protocol, body)).toMatchObject(CALLED)
    })
  }

  for (const { upstream, model } of UPSTREAMS) {
    test(`4.1 rule 2: usage is present on a tool call and on a truncated text over a ${upstream} upstream`, async () => {
      for (const more of [toolNamed('chat', 'get_weather', WEATHER), { max_tokens: 2 }]) {
        const { usage } = (await post(duet, CHAT, ask('chat', model, QUESTION, more))).body
        expect(usage.completion_tokens).toBeGreaterThan(0)
        expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens)
      }
    })

    test(`4.2 rule 2: token counts do not have the chat names over a ${upstream} upstream`, async () => {
      const { usage } = (await post(duet, MESSAGES, ask('messages', model, 'Hi'))).body
      expect(usage.input_tokens).toBeGreaterThan(0)
      expect(usage.output_tokens).toBeGreaterThan(0)
      for (const name of ['prompt_tokens', 'completion_tokens', 'total_tokens']) expect(usage).not.toHaveProperty(name)
    })

    test(`4.2 rule 3: the id has no msg_ prefix over a ${upstream} upstream, streamed or not`, async () => {
      const { body } = await post(duet, MESSAGES, ask('messages', model, 'Hi'))
      const { text } = await post(duet, MESSAGES, ask('messages', model, 'Hi', { stream: true }))
      for (const id of [body.id, framesOf(text)[0]?.json.message.id]) expect(id).toMatch(/^[0-9a-f]+$/)
    })
  }
})

describe('4.3: GET /models', () => {
  test('4.3 rule 1: the call is free of charge and uses the same key', async () => {
    const { account, key } = await newCaller(duet, { balance: '10' })
    const before = await balanceOf(duet, account)
    expect((await send(duet, '/v1/models', { key })).status).toBe(200)
    expect(await balanceOf(duet, account)).toBe(before)
  })

  test('4.3 rule 1: it is answered without any credit and with a cap of zero', async () => {
    const { key } = await newCaller(duet, { balance: '0', cap: '0' })
    expect((await send(duet, '/v1/models', { key })).status).toBe(200)
  })

  test('4.3: 401 without a credential', async () => {
    expectError(await send(duet, '/v1/models', { key: null }), { status: 401, code: '', message: 'Invalid token' })
  })

  test('4.3 rule 3: a name that is not on the list is not valid, whatever it resembles', async () => {
    const { body } = await send(duet, '/v1/models')
    for (const { id } of body.data.slice(0, 3) as JsonBody[]) {
      for (const model of [id.slice(id.indexOf('/') + 1), id.toUpperCase(), `${id}-latest`, ` ${id}`]) {
        expectError(await post(duet, CHAT, ask('chat', model, 'Hi')), { status: 503, code: 'model_not_found' })
      }
    }
  })
})

describe('4.4: paths that do not exist', () => {
  test('4.4: POST /messages/count_tokens is 404 in these words', async () => {
    const answer = await post(duet, '/v1/messages/count_tokens', ask('messages', MODEL, 'Hi'))
    expectError(answer, {
      status: 404,
      type: 'invalid_request_error',
      code: '',
      param: '',
      message: 'Invalid URL (POST /v1/messages/count_tokens)',
    })
  })

  for (const path of ['/embeddings', '/completions', '/images/generations']) {
    test(`4.4: ${path} is 400 and asks for messages`, async () => {
      const answer = await post(duet, `/v1${path}`, { model: MODEL, input: 'Hi', prompt: 'Hi' })
      const wanted = { code: 'invalid_request_error', type: 'invalid_request_error' as const }
      const { message } = expectError(answer, { status: 400, ...wanted })
      expect(message).toMatch(/\bmessages\b.*\brequired\b.*\bnon-empty array\b/)
    })

    test(`4.4: ${path} is 400 even for a body that has messages`, async () => {
      const answer = await post(duet, `/v1${path}`, ask('chat', MODEL, 'Hi'))
      expectError(answer, { status: 400, code: 'invalid_request_error' })
    })
  }
})
