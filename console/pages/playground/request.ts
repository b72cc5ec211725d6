import type { Answer, Json, ProtocolName, ToolCall } from './answer.ts'
import { isObject, parse } from './answer.ts'
import type { Tool } from './tools.ts'

/** The bodies that the two protocols are sent for one conversation. Pure. */

export type Output = 'text' | 'json' | 'schema'
export type Effort = 'default' | 'low' | 'medium' | 'high'
export type ToolUse = 'auto' | 'required' | 'none'

/** Read and checked; what is not set is left out. */
export interface Wishes {
  readonly system: string
  readonly isStreamed: boolean
  readonly maxTokens: number | undefined
  readonly temperature: number | undefined
  readonly tools: readonly Tool[]
  readonly toolUse: ToolUse
  readonly output: Output
  readonly schema: Json
  readonly effort: Effort
}

export interface Lane {
  readonly protocol: ProtocolName
  readonly model: string
}

export interface ToolResult {
  readonly id: string
  readonly content: string
}

export type Turn =
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'assistant'; readonly answer: Answer; readonly by: Lane }
  | { readonly role: 'results'; readonly results: readonly ToolResult[] }

/** One protocol has to be told a limit; this is it where nobody said one. */
const MESSAGES_TOKENS_DEFAULT = 4096

/** Where JSON needs a schema and nobody gave one. */
export const ANSWER_SCHEMA: Json = {
  type: 'object',
  properties: { answer: { type: 'string' } },
  required: ['answer'],
  additionalProperties: false,
}

export function requestOf(lane: Lane, turns: readonly Turn[], wishes: Wishes): Json {
  return lane.protocol === 'chat' ? chatRequest(lane, turns, wishes) : messagesRequest(lane, turns, wishes)
}

export const PATHS: Readonly<Record<ProtocolName, string>> = { chat: '/chat/completions', messages: '/messages' }

// ── chat ────────────────────────────────────────────────────────────────────────────────────────────────────────────

function chatRequest({ model }: Lane, turns: readonly Turn[], wishes: Wishes): Json {
  const { system, isStreamed, maxTokens, temperature, tools, toolUse, effort } = wishes
  return {
    model,
    messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...turns.flatMap(chatMessages)],
    ...(maxTokens === undefined ? {} : { max_completion_tokens: maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(effort === 'default' ? {} : { reasoning_effort: effort }),
    ...chatFormat(wishes),
    ...(tools.length === 0 ? {} : { tools: tools.map(chatTool) }),
    ...(tools.length === 0 || toolUse === 'auto' ? {} : { tool_choice: toolUse }),
    ...(isStreamed ? { stream: true, stream_options: { include_usage: true } } : {}),
  }
}

function chatMessages(turn: Turn): readonly Json[] {
  switch (turn.role) {
    case 'user':
      return [{ role: 'user', content: turn.text }]
    case 'results':
      return turn.results.map(({ id, content }) => ({ role: 'tool', tool_call_id: id, content }))
    case 'assistant': {
      const { text, calls } = turn.answer
      const called = calls.map(({ id, name, input }) => ({
        id,
        type: 'function',
        function: { name, arguments: input },
      }))
      return [{ role: 'assistant', content: text || null, ...(called.length === 0 ? {} : { tool_calls: called }) }]
    }
  }
}

const chatTool = ({ name, description, schema }: Tool): Json => ({
  type: 'function',
  function: { name, ...(description === '' ? {} : { description }), parameters: schema },
})

function chatFormat({ output, schema }: Wishes): Json {
  if (output === 'text') return {}
  if (output === 'json') return { response_format: { type: 'json_object' } }
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } } }
}

// ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────────

const BUDGETS: Readonly<Record<Exclude<Effort, 'default'>, number>> = { low: 1024, medium: 4096, high: 16384 }
/** The room that an answer needs beside its thoughts. */
const BUDGET_ROOM = 1024

function messagesRequest(lane: Lane, turns: readonly Turn[], wishes: Wishes): Json {
  const { system, isStreamed, maxTokens, temperature, tools, toolUse, effort, output, schema } = wishes
  const budget = effort === 'default' ? 0 : BUDGETS[effort]
  const format =
    output === 'text' ? undefined : { type: 'json_schema', schema: output === 'json' ? ANSWER_SCHEMA : schema }
  return {
    model: lane.model,
    max_tokens: maxTokens ?? Math.max(MESSAGES_TOKENS_DEFAULT, budget + BUDGET_ROOM),
    ...(system === '' ? {} : { system }),
    messages: turns.map(turn => message(turn, lane)),
    ...(temperature === undefined ? {} : { temperature }),
    ...(budget === 0 ? {} : { thinking: { type: 'enabled', budget_tokens: budget } }),
    ...(format ? { output_config: { format } } : {}),
    ...(tools.length === 0 ? {} : { tools: tools.map(messagesTool) }),
    ...(tools.length === 0 || toolUse === 'auto' ? {} : { tool_choice: { type: TOOL_USES[toolUse] } }),
    ...(isStreamed ? { stream: true } : {}),
  }
}

const TOOL_USES: Readonly<Record<ToolUse, string>> = { auto: 'auto', required: 'any', none: 'none' }

function message(turn: Turn, lane: Lane): Json {
  switch (turn.role) {
    case 'user':
      return { role: 'user', content: turn.text }
    case 'results':
      return {
        role: 'user',
        content: turn.results.map(({ id, content }) => ({ type: 'tool_result', tool_use_id: id, content })),
      }
    case 'assistant': {
      const { text, calls, thoughts } = turn.answer
      // A thought is sealed by the model that had it, and no other takes it back.
      const isOwn = turn.by.protocol === lane.protocol && turn.by.model === lane.model
      return {
        role: 'assistant',
        content: [
          ...(isOwn ? thoughts : []),
          ...(text === '' ? [] : [{ type: 'text', text }]),
          ...calls.map(call => ({ type: 'tool_use', id: call.id, name: call.name, input: inputOf(call) })),
        ],
      }
    }
  }
}

function inputOf({ input }: ToolCall): Json {
  const value = parse(input)
  return isObject(value) ? value : {}
}

const messagesTool = ({ name, description, schema }: Tool): Json => ({
  name,
  ...(description === '' ? {} : { description }),
  input_schema: schema,
})
