import { existsSync, readFileSync } from 'node:fs'
import type { ProtocolName } from '../../src/core/ask.ts'
import type { JsonBody } from '../support/duet.ts'

/** Good requests and answers, of which the bad ones are made. */
export interface Corpus {
  readonly requests: readonly JsonBody[]
  readonly bodies: readonly JsonBody[]
  /** Streams, as the JSON of their frames and the word that ends them. */
  readonly streams: readonly (readonly JsonBody[])[]
}

const MARK = { cache_control: { type: 'ephemeral' } }
const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string', minLength: 1 }, days: { type: 'array', items: { $ref: '#/definitions/day' } } },
  required: ['city'],
  definitions: { day: { type: ['integer', 'null'], oneOf: [{ const: 1 }, { enum: [2, 3] }] } },
}

// ── chat ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const call = (id: string, name: string, made: string) => ({ id, type: 'function', function: { name, arguments: made } })

const CHAT_REQUESTS: readonly JsonBody[] = [
  { model: 'm', messages: [{ role: 'user', content: 'Hello' }] },
  {
    model: 'm',
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Be brief.', ...MARK }] },
      { role: 'developer', content: 'Be kind.', name: 'us' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look: ' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'Hm.',
        reasoning_details: [
          { type: 'reasoning.text', text: 'Hm.', signature: 's' },
          { type: 'reasoning.encrypted', data: 'x' },
        ],
        tool_calls: [
          call('call_1', 'weather', '{"city":"Oslo","n":12345678901234567890}'),
          call('call.2', 'look up', ''),
        ],
      },
      { role: 'tool', tool_call_id: 'call.2', content: [{ type: 'text', text: 'found' }] },
      { role: 'system', content: 'In the middle.' },
      { role: 'tool', tool_call_id: 'call_1', content: '{"t":3}', is_error: true },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Cold.' },
          { type: 'refusal', refusal: 'No.' },
        ],
      },
      { role: 'user', content: 'And now?' },
    ],
    tools: [
      { type: 'function', function: { name: 'weather', description: 'Tells it.', parameters: SCHEMA, strict: true } },
      { type: 'function', function: { name: 'look up' }, ...MARK },
      { type: 'custom', custom: { name: 'run', format: { type: 'grammar', grammar: { definition: 'a: "b"' } } } },
    ],
    tool_choice: { type: 'function', function: { name: 'weather' } },
    parallel_tool_calls: false,
    ...{ temperature: 1.5, top_p: 0.9, top_k: 3, stop: ['a', ''], user: 'me@example.com', n: 1, seed: 7 },
    ...{ max_tokens: 100, max_completion_tokens: 200, reasoning_effort: 'high', service_tier: 'default' },
    ...{ stream: true, stream_options: { include_usage: true, other: 1 } },
  },
  {
    model: 'm',
    messages: [
      {
        role: 'user',
        content: [{ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' } }],
      },
      { role: 'assistant', function_call: { name: 'old', arguments: '{}' } },
      { role: 'function', name: 'old', content: 'done' },
    ],
    functions: [{ name: 'old', parameters: SCHEMA }],
    function_call: { name: 'old' },
  },
  {
    model: 'm',
    messages: [{ role: 'system', content: 'Only this.' }],
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: SCHEMA } },
    tools: [{ type: 'function', function: { name: 'a' } }],
    tool_choice: {
      type: 'allowed_tools',
      allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'a' } }] },
    },
  },
  { model: 'm', messages: [{ role: 'user', content: 'JSON' }], response_format: { type: 'json_object' } },
]

const CHAT_USAGE = {
  prompt_tokens: 20,
  completion_tokens: 5,
  total_tokens: 25,
  prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
  completion_tokens_details: { reasoning_tokens: 1 },
}

const CHAT_BODIES: readonly JsonBody[] = [
  {
    ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1_760_000_000, model: 'v', usage: CHAT_USAGE },
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'Let me see.',
          reasoning_content: 'Hm.',
          tool_calls: [call('call_1', 'weather', '{"city":"Os'), call('', 'run', '{"input":"x"}')],
        },
        finish_reason: 'length',
        stop_reason: 'END',
      },
    ],
  },
  {
    choices: [
      {
        message: {
          content: [
            { type: 'text', text: 'x' },
            { type: 'thinking', thinking: [{ text: 'y' }] },
          ],
          refusal: 'No.',
        },
      },
      { message: { content: '{"a":1}', function_call: { name: 'old', arguments: {} } } },
    ],
    usage: { prompt_tokens: 1e30 },
  },
  { choices: [{ index: 0, message: { content: 'Here: ```json\n{"a":[1]}\n```' }, finish_reason: 'stop' }] },
]

const chunk = (delta: JsonBody, finish_reason: string | null = null) => ({
  ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_760_000_000, model: 'v' },
  choices: [{ index: 0, delta, finish_reason }],
})

const fragment = (index: number, more: JsonBody) => chunk({ tool_calls: [{ index, ...more }] })

const CHAT_STREAMS: readonly (readonly JsonBody[])[] = [
  [
    chunk({ role: 'assistant', content: '' }),
    chunk({ reasoning_content: 'Hm' }),
    chunk({ content: 'Let me \ud83d' }),
    chunk({ content: '\ude00 see.' }),
    fragment(0, call('call_1', 'weather', '')),
    fragment(0, { function: { arguments: '{"city":' } }),
    fragment(1, call('call_2', 'run', '{"inp')),
    chunk({ content: 'between' }),
    fragment(0, { function: { arguments: '"Oslo"}' } }),
    fragment(1, { function: { arguments: 'ut":"x"}' } }),
    chunk({}, 'tool_calls'),
    { choices: [], usage: CHAT_USAGE },
    '[DONE]',
  ],
  [chunk({ role: 'assistant', content: 'Prose {"a":' }), chunk({ content: '1} more' }, 'stop'), '[DONE]'],
  [
    chunk({ content: [{ type: 'text', text: 'a' }], refusal: 'No.' }),
    chunk({ function_call: { name: 'old', arguments: '{}' } }, 'length'),
  ],
  [
    { choices: [{ delta: { content: 'a' } }, { index: 1, delta: { content: 'b' } }], usage: CHAT_USAGE },
    {
      choices: [
        { index: 1, delta: {}, finish_reason: 'stop' },
        { index: 0, delta: null, finish_reason: 'stop' },
      ],
    },
  ],
  [{ error: { message: 'busy at https://a.example', type: 'overloaded' } }, '[DONE]'],
]

// ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────────

const MESSAGES_REQUESTS: readonly JsonBody[] = [
  { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] },
  {
    model: 'm',
    max_tokens: 100,
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: 1' },
      { type: 'text', text: 'Be brief.', ...MARK },
    ],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 's' },
          { type: 'redacted_thinking', data: 'x' },
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Oslo', n: '@raw:12345678901234567890' } },
          { type: 'tool_use', id: 'toolu.2', name: 'look up', input: {}, ...MARK },
          { type: 'server_tool_use', id: 'srv', name: 'web_search', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: ' ' },
          {
            type: 'tool_result',
            tool_use_id: 'toolu.2',
            is_error: true,
            content: [
              { type: 'text', text: '' },
              { type: 'tool_reference', tool_name: 'late' },
            ],
          },
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            content: [{ type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } }],
          },
          { type: 'document', title: 'notes', source: { type: 'content', content: [{ type: 'text', text: 'All.' }] } },
          { type: 'search_result', title: 'found', content: [{ type: 'text', text: 'It.' }] },
        ],
      },
      { role: 'system', content: 'In the middle.' },
      { role: 'assistant', content: 'Cold.' },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'nobody', content: 'lost' }] },
    ],
    tools: [
      { name: 'weather', description: 'Tells it.', input_schema: SCHEMA, strict: true },
      { type: 'custom', name: 'look up', input_schema: {}, ...MARK },
      { name: 'late', input_schema: {}, defer_loading: true },
      { type: 'web_search_20250305', name: 'web_search' },
      { type: 'bash_20250124', name: 'bash' },
    ],
    tool_choice: { type: 'tool', name: 'weather', disable_parallel_tool_use: true },
    ...{ temperature: 0.5, top_p: 0.9, top_k: 3, stop_sequences: ['1', '2', '3', '4', '5'], stream: true },
    ...{ metadata: { user_id: '{"a":"b"}' }, service_tier: 'standard_only', container: 'box' },
    thinking: { type: 'enabled', budget_tokens: 4000 },
    output_config: { effort: 'max', format: { type: 'json_schema', schema: SCHEMA } },
  },
]

const MESSAGES_USAGE = {
  ...{ input_tokens: 15, cache_read_input_tokens: 3, cache_creation_input_tokens: 2, output_tokens: 5 },
  output_tokens_details: { thinking_tokens: 1 },
}

const HEAD = { id: 'msg_1', type: 'message', role: 'assistant', model: 'v' }

const MESSAGES_BODIES: readonly JsonBody[] = [
  {
    ...HEAD,
    content: [
      { type: 'thinking', thinking: 'Hm.', signature: 's' },
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Oslo' } },
      { type: 'server_tool_use', id: 'srv', name: 'web_search', input: {} },
      { type: 'text', text: 'More.' },
    ],
    ...{ stop_reason: 'tool_use', stop_sequence: null, usage: MESSAGES_USAGE },
  },
  {
    ...HEAD,
    content: [{ type: 'tool_use', id: 't', name: 'structured_output', input: { a: 1 } }],
    stop_reason: 'tool_use',
  },
  { type: 'error', error: { type: 'overloaded_error', message: 'busy' } },
]

const start = (index: number, content_block: JsonBody) => ({ type: 'content_block_start', index, content_block })
const delta = (index: number, more: JsonBody) => ({ type: 'content_block_delta', index, delta: more })
const stop = (index: number) => ({ type: 'content_block_stop', index })

const MESSAGES_STREAMS: readonly (readonly JsonBody[])[] = [
  [
    {
      type: 'message_start',
      message: { ...HEAD, content: [], stop_reason: null, usage: { input_tokens: 15, output_tokens: 1 } },
    },
    start(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'Hm.' }),
    delta(0, { type: 'signature_delta', signature: 's' }),
    stop(0),
    { type: 'ping' },
    start(1, { type: 'text', text: '' }),
    delta(1, { type: 'text_delta', text: 'Let me \ud83d' }),
    start(2, { type: 'tool_use', id: 'toolu_1', name: 'structured_output', input: {} }),
    delta(1, { type: 'text_delta', text: '\ude00' }),
    delta(2, { type: 'input_json_delta', partial_json: '{"city":' }),
    stop(1),
    start(3, { type: 'tool_use', id: 'toolu_2', name: 'weather', input: { a: 1 } }),
    delta(2, { type: 'input_json_delta', partial_json: '"Oslo"}' }),
    stop(2),
    stop(3),
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: MESSAGES_USAGE },
    { type: 'message_stop' },
  ],
  [
    start(0, { type: 'text', text: 'Prose {"a":' }),
    delta(0, { type: 'text_delta', text: '1} more' }),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
  ],
  [
    { type: 'message_start', message: {} },
    { type: 'error', error: { type: 'overloaded_error', message: 'busy' } },
  ],
]

// ── the cases that everybody checks with ────────────────────────────────────────────────────────────────────────────

const FIXTURE = new URL('../fixtures/translation.json', import.meta.url)

interface Case {
  readonly direction: string
  readonly request?: JsonBody
  readonly upstream_response?: JsonBody
  readonly upstream_frames?: readonly string[]
}

function fixtureCases(): readonly Case[] {
  return existsSync(FIXTURE) ? JSON.parse(readFileSync(FIXTURE, 'utf8')).cases : []
}

const CASES = fixtureCases()

const clientOf = ({ direction }: Case): ProtocolName | undefined =>
  /openai-client/.test(direction) ? 'chat' : /anthropic-client/.test(direction) ? 'messages' : undefined

const upstreamOf = ({ direction }: Case): ProtocolName => (/openai-upstream/.test(direction) ? 'chat' : 'messages')

const isRequest = ({ request }: Case): boolean => Array.isArray(request?.messages)

function framesOf({ upstream_frames: frames = [] }: Case): JsonBody[] {
  const lines = frames.join('').split(/\r\n|\r|\n/)
  return lines.flatMap(line => {
    const data = line.startsWith('data:') ? line.slice(5).trim() : ''
    try {
      return data === '[DONE]' ? [data] : data === '' ? [] : [JSON.parse(data)]
    } catch {
      return []
    }
  })
}

function corpusOf(protocol: ProtocolName, own: Corpus): Corpus {
  const asked = CASES.filter(one => clientOf(one) === protocol && isRequest(one))
  const answered = CASES.filter(one => upstreamOf(one) === protocol)
  return {
    requests: [...own.requests, ...asked.map(({ request }) => ({ model: 'm', max_tokens: 50, ...request }))],
    bodies: [...own.bodies, ...answered.flatMap(({ upstream_response: body }) => (body === undefined ? [] : [body]))],
    streams: [...own.streams, ...answered.filter(one => one.upstream_frames).map(framesOf)],
  }
}

export const CORPUS: Readonly<Record<ProtocolName, Corpus>> = {
  chat: corpusOf('chat', { requests: CHAT_REQUESTS, bodies: CHAT_BODIES, streams: CHAT_STREAMS }),
  messages: corpusOf('messages', { requests: MESSAGES_REQUESTS, bodies: MESSAGES_BODIES, streams: MESSAGES_STREAMS }),
}
