import type { JsonBody } from '../../support/duet.ts'
import type { ProtocolName } from '../../support/wire.ts'
import { call, says, text, use, used } from '../rules/stage.ts'

/** Requests and answers with something of everything in them. */

const MARK = { cache_control: { type: 'ephemeral' } }
const SCHEMA = {
  type: 'object',
  properties: { a: { type: 'string', format: 'date' } },
  $defs: { b: { $ref: '#/$defs/b' } },
}

export const REQUESTS: Readonly<Record<ProtocolName, JsonBody>> = {
  chat: {
    messages: [
      says('system', [text('s', MARK)]),
      says('user', [
        text('q'),
        { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=', detail: 'low' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' } },
      ]),
      says('assistant', [text('a'), { type: 'refusal', refusal: 'no' }], {
        reasoning_content: 'hm',
        reasoning_details: [{ type: 'reasoning.text', text: 'hm', signature: 's' }],
        tool_calls: [call('c1'), { id: 'c2', type: 'custom', custom: { name: 'run', input: 'ls' } }],
      }),
      says('tool', [text('r')], { tool_call_id: 'c1', is_error: true }),
      says('tool', 'r', { tool_call_id: 'c2', name: 'run' }),
      says('assistant', null, { function_call: { name: 'f', arguments: '{}' } }),
      says('function', 'r', { name: 'f' }),
      says('developer', 'd'),
    ],
    tools: [
      { type: 'function', function: { name: 'f', description: 'd', parameters: SCHEMA, strict: true }, ...MARK },
      { type: 'custom', custom: { name: 'run', format: { type: 'grammar', grammar: { definition: 'x' } } } },
    ],
    functions: [{ name: 'g', parameters: SCHEMA }],
    tool_choice: { type: 'function', function: { name: 'f' } },
    response_format: { type: 'json_schema', json_schema: { name: 'o', schema: SCHEMA } },
    ...{ stop: ['x'], user: 'u', metadata: { a: 'b' }, reasoning_effort: 'low', service_tier: 'auto' },
    ...{ stream: false, stream_options: { include_usage: true }, prediction: { type: 'content' } },
  },
  messages: {
    system: [text('s', MARK)],
    messages: [
      says('user', [
        text('q', MARK),
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
        { type: 'document', title: 't', source: { type: 'base64', media_type: 'application/pdf', data: 'aGk=' } },
        { type: 'document', source: { type: 'content', content: [text('c')] } },
        { type: 'search_result', title: 't', source: 's', content: [text('c')] },
      ]),
      says('assistant', [
        { type: 'thinking', thinking: 'hm', signature: 's' },
        { type: 'redacted_thinking', data: 'x' },
        { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} },
        use('t1', 'f', { a: 1 }),
      ]),
      says('user', [
        used('t1', [text('r'), { type: 'tool_reference', tool_name: 'g' }], { is_error: true, ...MARK }),
        { type: 'novelty', text: 'n' },
      ]),
      says('system', [text('s')]),
    ],
    tools: [
      { name: 'f', description: 'd', input_schema: SCHEMA, strict: true, ...MARK },
      { type: 'bash_20250124', name: 'bash' },
      { type: 'web_search_20250305', name: 'web_search' },
      { name: 'g', input_schema: SCHEMA, defer_loading: true },
    ],
    tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true },
    thinking: { type: 'enabled', budget_tokens: 1_024 },
    output_config: { effort: 'low', format: { type: 'json_schema', schema: SCHEMA } },
    ...{ metadata: { user_id: 'u' }, stop_sequences: ['x'], service_tier: 'auto', context_management: { edits: [] } },
  },
}

const HEAD = { id: 'v', model: 'v' }
const CHAT_USAGE = { prompt_tokens: 7, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 1 } }
const MESSAGES_USAGE = { input_tokens: 7, output_tokens: 5, output_tokens_details: { thinking_tokens: 1 } }

export const BODIES: Readonly<Record<ProtocolName, JsonBody>> = {
  chat: {
    ...{ ...HEAD, object: 'chat.completion', created: 1, usage: CHAT_USAGE },
    choices: [
      {
        index: 0,
        message: {
          ...says('assistant', [text('a'), { type: 'thinking', thinking: [text('b')] }]),
          ...{ reasoning_content: 'hm', refusal: 'no' },
          tool_calls: [call('c1'), { id: 'c2', type: 'custom', custom: { name: 'run', input: 'ls' } }],
        },
        finish_reason: 'stop',
        stop_reason: 'END',
      },
    ],
  },
  messages: {
    ...{ ...HEAD, ...says('assistant', [text('a'), { type: 'thinking', thinking: 'hm' }, use('t1', 'f', { a: 1 })]) },
    ...{ type: 'message', stop_reason: 'tool_use', stop_sequence: 'END', usage: MESSAGES_USAGE },
  },
}

export const ERROR: JsonBody = {
  type: 'error',
  error: { message: 'no', type: 'vendor_error', param: 'p', code: 'c', details: ['d'] },
  ...{ message: 'no', detail: [{ msg: 'no', loc: ['body'] }], request_id: 'r' },
}

const chunk = (delta: object, more: object = {}) => ({
  ...{ ...HEAD, object: 'chat.completion.chunk', created: 1 },
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
})
const start = (index: number, content_block: object) => ({ type: 'content_block_start', index, content_block })
const delta = (index: number, change: object) => ({ type: 'content_block_delta', index, delta: change })
const stop = (index: number) => ({ type: 'content_block_stop', index })

export const STREAMS: Readonly<Record<ProtocolName, readonly JsonBody[]>> = {
  chat: [
    chunk({ role: 'assistant', content: 'a', reasoning_content: 'hm' }),
    chunk({ tool_calls: [{ index: 0, ...call('c1') }] }),
    chunk({ tool_calls: [{ index: 1, id: 'c2', type: 'custom', custom: { name: 'run', input: 'ls' } }] }),
    chunk({ function_call: { name: 'f', arguments: '{}' } }),
    chunk({}, { finish_reason: 'stop', stop_reason: 'END' }),
    { ...HEAD, choices: [], usage: CHAT_USAGE },
  ],
  messages: [
    { type: 'message_start', message: { ...HEAD, ...says('assistant', []), usage: MESSAGES_USAGE } },
    ...[start(0, text('')), delta(0, { type: 'text_delta', text: 'a' }), stop(0)],
    ...[start(1, use('t1')), delta(1, { type: 'input_json_delta', partial_json: '{}' }), stop(1)],
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: 'END' }, usage: MESSAGES_USAGE },
    { type: 'message_stop' },
  ],
}
