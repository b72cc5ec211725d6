import { describe, expect, test } from 'bun:test'
import { ask, type JsonObject, PROTOCOLS, type Protocol, postJson, useSandbox } from './support.ts'
import { answer, CALLS, result, USER, USES, use } from './turns.ts'

const sandbox = useSandbox()

const OBJECT = { type: 'object' }
const FUNCTION = { type: 'function', function: { name: 'f' } }
const IMAGE_PART = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
const IMAGE_BLOCK = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }

/** What is changed in a good request, and what the refusal speaks of. */
type Row = readonly [title: string, change: JsonObject, message: string]

const BOTH: readonly Row[] = [
  ['a number as the model', { model: 7 }, 'model'],
  ['an empty model', { model: '' }, 'model'],
  ['messages that are no list', { messages: 'Hi' }, 'messages'],
  ['no messages', { messages: [] }, 'messages'],
  ['a message that is no object', { messages: ['Hi'] }, 'messages.0'],
  ['an unknown role', { messages: [{ role: 'robot', content: 'Hi' }] }, 'role'],
  ['content of the wrong kind', { messages: [{ role: 'user', content: 7 }] }, 'content'],
  ['a part that is no object', { messages: [{ role: 'user', content: ['Hi'] }] }, 'content.0'],
  ['a text part without text', { messages: [{ role: 'user', content: [{ type: 'text' }] }] }, 'text'],
  ['max_tokens of 0', { max_tokens: 0 }, 'max_tokens'],
  ['a broken max_tokens', { max_tokens: 1.5 }, 'max_tokens'],
  ['max_tokens as text', { max_tokens: '5' }, 'max_tokens'],
  ['stream as text', { stream: 'yes' }, 'stream'],
  ['a negative temperature', { temperature: -1 }, 'temperature'],
  ['tools that are no list', { tools: {} }, 'tools'],
  ['a tool that is no object', { tools: [null] }, 'tools.0'],
]

const CHAT: readonly Row[] = [
  ['max_completion_tokens of 0', { max_completion_tokens: 0 }, 'max_completion_tokens'],
  ['an image part', { messages: [{ role: 'user', content: [IMAGE_PART] }] }, 'image_url'],
  ['an image in an earlier message', { messages: [{ role: 'user', content: [IMAGE_PART] }, USER] }, 'image_url'],
  ['a tool of another type', { tools: [{ type: 'custom', custom: { name: 'f' } }] }, 'tools.0.type'],
  ['a tool without a name', { tools: [{ type: 'function', function: {} }] }, 'name'],
  ['a tool with a blank in its name', { tools: [{ type: 'function', function: { name: 'a b' } }] }, 'a b'],
  ['a tool with a long name', { tools: [{ type: 'function', function: { name: 'n'.repeat(65) } }] }, 'nnn'],
  ['two tools of one name', { tools: [FUNCTION, FUNCTION] }, 'unique'],
  ['a demanded call without tools', { tool_choice: 'required' }, 'tool_choice'],
  ['an unknown tool choice', { tools: [FUNCTION], tool_choice: 'any' }, 'tool_choice'],
  [
    'a choice of an unknown tool',
    { tools: [FUNCTION], tool_choice: { type: 'function', function: { name: 'g' } } },
    'g',
  ],
  ['a tool message without an id', { messages: [USER, { role: 'tool', content: '' }] }, 'tool_call_id'],
  ['a tool message that answers nothing', { messages: [USER, answer('a')] }, 'tool_calls'],
  ['a call without an answer', { messages: [USER, CALLS] }, 'a, b'],
  ['a call with its answer missing', { messages: [USER, CALLS, answer('a')] }, 'b'],
  ['a user between a call and its answer', { messages: [USER, CALLS, answer('a'), USER, answer('b')] }, 'b'],
  ['a call without a name', { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', function: {} }] }] }, 'name'],
  [
    'arguments that are no text',
    { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: {} } }] }] },
    'arguments',
  ],
  ['an unknown response format', { response_format: { type: 'xml' } }, 'response_format'],
  ['a schema without a name', { response_format: { type: 'json_schema', json_schema: {} } }, 'name'],
  ['a temperature above 2', { temperature: 2.1 }, 'temperature'],
  ['a part of an unknown type', { messages: [{ role: 'user', content: [{ type: 'video' }] }] }, 'video'],
]

const MESSAGES: readonly Row[] = [
  ['max_tokens of null', { max_tokens: null }, 'max_tokens'],
  ['a system message', { messages: [{ role: 'system', content: 'x' }, USER] }, 'role'],
  ['a tool message', { messages: [USER, { role: 'tool', content: 'x' }] }, 'role'],
  ['an assistant who speaks first', { messages: [{ role: 'assistant', content: 'x' }, USER] }, 'first message'],
  ['a message without content', { messages: [{ role: 'user' }] }, 'content'],
  ['empty content', { messages: [{ role: 'user', content: '' }] }, 'non-empty'],
  ['a list of no blocks', { messages: [{ role: 'user', content: [] }] }, 'non-empty'],
  ['an empty text block', { messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }, 'non-empty'],
  ['a blank text block', { messages: [{ role: 'user', content: [{ type: 'text', text: ' \n' }] }] }, 'non-empty'],
  ['an empty system block', { system: [{ type: 'text', text: '' }] }, 'non-empty'],
  ['an image block', { messages: [{ role: 'user', content: [IMAGE_BLOCK] }] }, 'image'],
  [
    'an image in a tool result',
    { messages: [USER, USES, { role: 'user', content: [result('a', [IMAGE_BLOCK]), result('b')] }] },
    'image',
  ],
  ['a tool without a schema', { tools: [{ name: 'f' }] }, 'input_schema'],
  [
    'a tool with a schema that is no object',
    { tools: [{ name: 'f', input_schema: { type: 'string' } }] },
    'input_schema.type',
  ],
  ['a tool with a dot in its name', { tools: [{ name: 'a.b', input_schema: OBJECT }] }, 'a.b'],
  ['a tool with a long name', { tools: [{ name: 'n'.repeat(129), input_schema: OBJECT }] }, 'nnn'],
  ['a demanded call without tools', { tool_choice: { type: 'any' } }, 'tool_choice'],
  ['a tool choice as text', { tool_choice: 'auto' }, 'tool_choice'],
  ['a choice of an unknown tool', { tool_choice: { type: 'tool', name: 'g' } }, 'g'],
  ['a result that answers nothing', { messages: [{ role: 'user', content: [result('a')] }] }, 'tool_use_id'],
  ['a result before its call', { messages: [{ role: 'user', content: [result('a')] }, USES, USER] }, 'tool_use_id'],
  ['a call without a result', { messages: [USER, USES, { role: 'user', content: [result('a')] }] }, 'b'],
  ['a call at the end', { messages: [USER, USES] }, 'a, b'],
  ['a call made twice', { messages: [USER, { role: 'assistant', content: [use('a'), use('a')] }] }, 'unique'],
  [
    'text before a result',
    { messages: [USER, USES, { role: 'user', content: [{ type: 'text', text: 'x' }, result('a'), result('b')] }] },
    'before',
  ],
  ['a call by the user', { messages: [{ role: 'user', content: [use('a')] }] }, 'user'],
  [
    'a call without an input',
    { messages: [USER, { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f' }] }] },
    'input',
  ],
  [
    'a thought without a signature',
    { messages: [USER, { role: 'assistant', content: [{ type: 'thinking', thinking: 'x', signature: '' }] }, USER] },
    'signature',
  ],
  ['a blank stop sequence', { stop_sequences: ['x', ' '] }, 'stop_sequences.1'],
  ['a temperature above 1', { temperature: 1.1 }, 'temperature'],
  ['a small thinking budget', { thinking: { type: 'enabled', budget_tokens: 512 } }, 'budget_tokens'],
  ['a thinking budget above the cap', { thinking: { type: 'enabled', budget_tokens: 4096 } }, 'max_tokens'],
  ['an unknown kind of thinking', { thinking: { type: 'maybe' } }, 'thinking'],
]

const ROWS: Record<Protocol, readonly Row[]> = { chat: [...BOTH, ...CHAT], messages: [...BOTH, ...MESSAGES] }

for (const protocol of PROTOCOLS) {
  describe(`${protocol} refuses`, () => {
    for (const [title, change, message] of ROWS[protocol]) {
      test(title, async () => {
        const { status, body } = await postJson(sandbox.url, protocol, { ...ask(protocol, { user: 'Hi' }), ...change })
        expect({ status, body }).toEqual({ status: 400, body: nativeError(protocol, message) })
      })
    }

    for (const [title, text] of [
      ['what is not JSON', '{"model":'],
      ['an empty body', ''],
      ['a list', '[]'],
      ['null', 'null'],
      ['a body nested without end', `{"model":"m","messages":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ] as const) {
      test(title, async () => {
        const { status, body } = await postJson(sandbox.url, protocol, text)
        expect({ status, body }).toEqual({ status: 400, body: nativeError(protocol, 'The request body') })
      })
    }

    for (const field of protocol === 'chat' ? ['model', 'messages'] : ['model', 'messages', 'max_tokens']) {
      test(`a body without ${field}`, async () => {
        const { [field]: _, ...rest } = ask(protocol, { user: 'Hi' })
        const { status, body } = await postJson(sandbox.url, protocol, rest)
        expect({ status, body }).toEqual({ status: 400, body: nativeError(protocol, `${field}: Field required`) })
      })
    }
  })

  describe(`${protocol} accepts`, () => {
    for (const [title, change] of accepted(protocol)) {
      test(title, async () => {
        const { status, body } = await postJson(sandbox.url, protocol, { ...ask(protocol, { user: 'Hi' }), ...change })
        expect({ status, error: body.error }).toEqual({ status: 200, error: undefined })
      })
    }
  })
}

function nativeError(protocol: Protocol, part: string): JsonObject {
  const message = expect.stringContaining(part) as unknown as string
  if (protocol === 'chat') return { error: { message, type: 'invalid_request_error', param: null, code: null } }
  const request_id = expect.stringMatching(/^req_/) as unknown as string
  return { type: 'error', error: { type: 'invalid_request_error', message }, request_id }
}

function accepted(protocol: Protocol): readonly (readonly [title: string, change: JsonObject])[] {
  if (protocol === 'chat') {
    return [
      ['null content', { messages: [USER, { role: 'assistant', content: null }, USER] }],
      ['answers in any order', { messages: [USER, CALLS, answer('b'), answer('a')] }],
      [
        'explicit nulls',
        { max_tokens: null, stop: null, tools: null, tool_choice: null, response_format: null, stream: null },
      ],
      ['a tool without parameters', { tools: [FUNCTION] }],
      ['an assistant who spoke last', { messages: [USER, { role: 'assistant', content: 'So,' }] }],
    ]
  }
  return [
    [
      'every known field',
      { top_k: 5, metadata: { user_id: 'u' }, service_tier: 'auto', container: null, betas: [], speed: 'fast' },
    ],
    ['fields that begin with x_', { x_trace: 'abc' }],
    [
      'results in two messages',
      { messages: [USER, USES, { role: 'user', content: [result('a')] }, { role: 'user', content: [result('b')] }] },
    ],
    [
      'results with text behind them',
      { messages: [USER, USES, { role: 'user', content: [result('a'), result('b'), { type: 'text', text: 'x' }] }] },
    ],
    ['an empty result', { messages: [USER, USES, { role: 'user', content: [result('a', null), result('b', '')] }] }],
    [
      'a signed thought',
      { messages: [USER, { role: 'assistant', content: [{ type: 'thinking', thinking: 'x', signature: 's' }] }, USER] },
    ],
    ['an assistant who spoke last', { messages: [USER, { role: 'assistant', content: 'So,' }] }],
    ['a thinking budget', { thinking: { type: 'enabled', budget_tokens: 1024 } }],
  ]
}
