import type { JsonBody } from '../support/duet.ts'
import { eventStream, type UpstreamVisit } from '../support/upstream.ts'
import type { Protocol, ToolCall } from './pairs.ts'

/** What a scripted model says, before it is put in either protocol. */
export interface Said {
  readonly reasoning?: string
  readonly text?: string
  readonly calls?: readonly ToolCall[]
  readonly finish: 'stop' | 'length' | 'tool_calls' | 'content_filter'
  /** In the words of each protocol; absent when the vendor sends none. */
  readonly usage?: { readonly chat: JsonBody; readonly messages: JsonBody }
}

export const PLAIN_USAGE = {
  chat: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
  messages: { input_tokens: 11, output_tokens: 7 },
}

/** An upstream that always says the same, in the protocol and in the way it is asked. */
export function saying(said: Said): (visit: UpstreamVisit) => Response {
  return visit => {
    const protocol = protocolOf(visit)
    return visit.body.stream ? eventStream(framesOf(protocol, said)) : jsonResponse(bodyOf(protocol, said))
  }
}

export function protocolOf(visit: UpstreamVisit): Protocol {
  return visit.path.endsWith('/messages') ? 'messages' : 'chat'
}

export function jsonResponse(text: string): Response {
  return new Response(text, { headers: { 'content-type': 'application/json' } })
}

export function bodyOf(protocol: Protocol, said: Said): string {
  return protocol === 'chat' ? chatBody(said) : messagesBody(said)
}

export function framesOf(protocol: Protocol, said: Said): string[] {
  return protocol === 'chat' ? chatFrames(said) : messagesFrames(said)
}

const CHAT_HEAD = { id: 'chatcmpl-vendor', created: 1_760_000_000, model: 'the-vendors-own-name' }
const MESSAGES_HEAD = { id: 'msg_vendor', type: 'message', role: 'assistant', model: 'the-vendors-own-name' }
const STOP_REASONS: Record<Said['finish'], string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}

function chatBody({ reasoning, text, calls, finish, usage }: Said): string {
  const message = {
    role: 'assistant',
    content: text ?? null,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(calls && { tool_calls: calls.map(chatCall) }),
  }
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finish }]
  return JSON.stringify({ ...CHAT_HEAD, object: 'chat.completion', choices, ...(usage && { usage: usage.chat }) })
}

function chatFrames({ reasoning = '', text = '', calls = [], finish, usage }: Said): string[] {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    chatFrame({ choices: [{ index: 0, delta, logprobs: null, finish_reason }], ...(usage && { usage: null }) })
  return [
    chunk({ role: 'assistant', content: '' }),
    ...pieces(reasoning).map(piece => chunk({ reasoning_content: piece })),
    ...pieces(text).map(piece => chunk({ content: piece })),
    ...calls.flatMap((call, index) => [
      chunk({ tool_calls: [{ index, ...chatCall({ ...call, arguments: '' }) }] }),
      ...pieces(call.arguments).map(piece => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
    chunk({}, finish),
    ...(usage ? [chatFrame({ choices: [], usage: usage.chat })] : []),
    'data: [DONE]\n\n',
  ]
}

export function chatFrame(fields: object): string {
  return `data: ${JSON.stringify({ ...CHAT_HEAD, object: 'chat.completion.chunk', ...fields })}\n\n`
}

function chatCall({ id, ...called }: ToolCall): JsonBody {
  return { id, type: 'function', function: called }
}

function messagesBody({ reasoning, text, calls = [], finish, usage }: Said): string {
  const content = [
    ...(reasoning === undefined ? [] : [{ type: 'thinking', thinking: reasoning, signature: 'c2lnbmVk' }]),
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...calls.map(({ id, name }) => ({ type: 'tool_use', id, name, input: `raw ${id}` })),
  ]
  const ending = { stop_reason: STOP_REASONS[finish], stop_sequence: null }
  const body = JSON.stringify({ ...MESSAGES_HEAD, content, ...ending, ...(usage && { usage: usage.messages }) })
  // The arguments go in as they are: a parser would round their numbers and sort their keys.
  return calls.reduce((json, call) => json.replace(`"raw ${call.id}"`, () => call.arguments), body)
}

function messagesFrames({ reasoning, text, calls = [], finish, usage }: Said): string[] {
  const thinking = { type: 'thinking', thinking: '', signature: '' }
  const blocks = [
    ...(reasoning === undefined
      ? []
      : [
          {
            start: thinking,
            deltas: [
              ...pieces(reasoning).map(piece => ({ type: 'thinking_delta', thinking: piece })),
              { type: 'signature_delta', signature: 'c2lnbmVk' },
            ],
          },
        ]),
    ...(text === undefined
      ? []
      : [
          {
            start: { type: 'text', text: '' },
            deltas: pieces(text).map(piece => ({ type: 'text_delta', text: piece })),
          },
        ]),
    ...calls.map(({ id, name, arguments: json }) => ({
      start: { type: 'tool_use', id, name, input: {} },
      deltas: pieces(json).map(piece => ({ type: 'input_json_delta', partial_json: piece })),
    })),
  ]
  const message = { ...MESSAGES_HEAD, content: [], stop_reason: null, stop_sequence: null }
  return [
    messagesFrame('message_start', {
      message: { ...message, ...(usage && { usage: { ...usage.messages, output_tokens: 1 } }) },
    }),
    ...blocks.flatMap(({ start, deltas }, index) => [
      messagesFrame('content_block_start', { index, content_block: start }),
      ...deltas.map(delta => messagesFrame('content_block_delta', { index, delta })),
      messagesFrame('content_block_stop', { index }),
    ]),
    messagesFrame('message_delta', {
      delta: { stop_reason: STOP_REASONS[finish], stop_sequence: null },
      ...(usage && { usage: usage.messages }),
    }),
    messagesFrame('message_stop', {}),
  ]
}

export function messagesFrame(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}

/** Small deltas, as vendors send them; no character is split. */
function pieces(text: string): string[] {
  return text.match(/.{1,9}/gsu) ?? []
}
