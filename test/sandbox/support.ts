import { afterAll, beforeAll, expect } from 'bun:test'
import { connect } from 'node:net'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
export type JsonObject = { [key: string]: Json }

export type Protocol = 'chat' | 'messages'

export const PROTOCOLS: readonly Protocol[] = ['chat', 'messages']

const PATHS: Record<Protocol, string> = { chat: '/chat/completions', messages: '/messages' }

/** One running sandbox per test file; models with "think" in their name reason. */
export function useSandbox(): { readonly url: string } {
  let sandbox: Sandbox | undefined
  beforeAll(() => {
    sandbox = startSandbox({ reasons: model => model.includes('think') })
  })
  afterAll(() => sandbox?.stop())
  return {
    get url() {
      return sandbox?.url ?? ''
    },
  }
}

export interface Turn {
  readonly user: string
  readonly system?: string
  readonly model?: string
  readonly more?: JsonObject
}

/** The same question in either protocol. */
export function ask(protocol: Protocol, { user, system, model = 'acme/swift', more = {} }: Turn): JsonObject {
  const question = { role: 'user', content: user }
  if (protocol === 'messages') {
    return { model, max_tokens: 4096, messages: [question], ...(system !== undefined && { system }), ...more }
  }
  const instructions = system === undefined ? [] : [{ role: 'system', content: system }]
  return { model, messages: [...instructions, question], ...more }
}

export interface Call {
  readonly name: string
  readonly description?: string
  readonly schema?: JsonObject
}

/** The same tools in either protocol. */
export function tools(protocol: Protocol, ...calls: readonly Call[]): JsonObject {
  const list = calls.map(({ name, description = '', schema = { type: 'object', properties: {} } }) =>
    protocol === 'chat'
      ? { type: 'function', function: { name, description, parameters: schema } }
      : { name, description, input_schema: schema },
  )
  return { tools: list }
}

export function toolChoice(protocol: Protocol, choice: 'auto' | 'none' | 'any' | { name: string }): JsonObject {
  if (typeof choice === 'object') {
    return protocol === 'chat'
      ? { tool_choice: { type: 'function', function: choice } }
      : { tool_choice: { type: 'tool', ...choice } }
  }
  if (protocol === 'messages') return { tool_choice: { type: choice } }
  return { tool_choice: choice === 'any' ? 'required' : choice }
}

export function post(url: string, protocol: Protocol, body: JsonObject | string, init: RequestInit = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return fetch(url + PATHS[protocol], { method: 'POST', body: text, ...init })
}

/** A vendor's answer reduced to what both protocols say. */
export interface Seen {
  readonly id: string
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly { id: string; name: string; arguments: string }[]
  readonly stop: string
  readonly inputTokens: number
  readonly outputTokens: number
}

export async function say(url: string, protocol: Protocol, turn: Turn): Promise<Seen> {
  const { status, body } = await postJson<ChatBody & MessagesBody>(url, protocol, ask(protocol, turn))
  expect({ status, error: body.error }).toEqual({ status: 200, error: undefined })
  return protocol === 'chat' ? seenInChat(body) : seenInMessages(body)
}

export async function postJson<T>(url: string, protocol: Protocol, request: JsonObject | string) {
  const response = await post(url, protocol, request)
  const body: T & { readonly error?: JsonObject } = JSON.parse(await response.text())
  return { status: response.status, headers: response.headers, body }
}

function seenInChat({ id, choices, usage }: ChatBody): Seen {
  const { message, finish_reason } = choices[0]
  return {
    id,
    text: message.content ?? '',
    reasoning: message.reasoning_content ?? '',
    calls: (message.tool_calls ?? []).map(call => ({ id: call.id, ...call.function })),
    stop: finish_reason,
    inputTokens: usage.prompt_tokens,
    outputTokens: usage.completion_tokens,
  }
}

function seenInMessages({ id, content, stop_reason, usage }: MessagesBody): Seen {
  return {
    id,
    text: content.map(block => block.text ?? '').join(''),
    reasoning: content.map(block => block.thinking ?? '').join(''),
    calls: content
      .filter(block => block.type === 'tool_use')
      .map(block => ({ id: block.id ?? '', name: block.name ?? '', arguments: JSON.stringify(block.input) })),
    stop: stop_reason,
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
  }
}

interface ChatBody {
  readonly id: string
  readonly choices: readonly [
    {
      readonly message: {
        readonly content: string | null
        readonly reasoning_content?: string
        readonly tool_calls?: readonly { id: string; function: { name: string; arguments: string } }[]
      }
      readonly finish_reason: string
    },
  ]
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number }
}

interface MessagesBody {
  readonly id: string
  readonly content: readonly {
    readonly type: string
    readonly text?: string
    readonly thinking?: string
    readonly id?: string
    readonly name?: string
    readonly input?: JsonObject
  }[]
  readonly stop_reason: string
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number }
}

export interface ChatChunk {
  readonly id: string
  readonly object: string
  readonly created: number
  readonly model: string
  readonly choices: readonly {
    readonly index: number
    readonly delta: {
      readonly role?: string
      readonly content?: string
      readonly reasoning_content?: string
      readonly tool_calls?: readonly JsonObject[]
    }
    readonly finish_reason: string | null
  }[]
  readonly usage?: JsonObject | null
}

export interface MessagesEvent {
  readonly type: string
  readonly index?: number
  readonly message?: JsonObject
  readonly content_block?: JsonObject
  readonly delta?: JsonObject
  readonly usage?: JsonObject
}

export async function streamText(url: string, protocol: Protocol, turn: Turn): Promise<string> {
  const response = await post(url, protocol, { ...ask(protocol, turn), stream: true })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toStartWith('text/event-stream')
  return response.text()
}

export async function chatChunks(url: string, turn: Turn): Promise<readonly ChatChunk[]> {
  return dataOf<ChatChunk>(await streamText(url, 'chat', turn))
}

export async function messagesEvents(url: string, turn: Turn): Promise<readonly MessagesEvent[]> {
  return dataOf<MessagesEvent>(await streamText(url, 'messages', turn))
}

/** The data of each frame of a stream, in order; `[DONE]` is left out. */
export function dataOf<T>(stream: string): readonly T[] {
  const lines = stream.split('\n').filter(line => line.startsWith('data: ') && line !== 'data: [DONE]')
  return lines.map(line => JSON.parse(line.slice('data: '.length)))
}

/** The small deltas of a stream in either protocol, as their texts. */
export function deltasOf(stream: string, protocol: Protocol): readonly string[] {
  if (protocol === 'chat') {
    return dataOf<ChatChunk>(stream).flatMap(({ choices }) => choices.flatMap(({ delta }) => chatDelta(delta)))
  }
  return dataOf<MessagesEvent>(stream)
    .filter(({ type, delta }) => type === 'content_block_delta' && delta?.type !== 'signature_delta')
    .map(({ delta }) => String(delta?.text ?? delta?.thinking ?? delta?.partial_json))
}

function chatDelta({
  content,
  reasoning_content,
  tool_calls,
}: ChatChunk['choices'][number]['delta']): readonly string[] {
  const argumentsPart = tool_calls?.[0]?.function as JsonObject | undefined
  return [content, reasoning_content, argumentsPart?.arguments]
    .filter(text => typeof text === 'string' && text !== '')
    .map(String)
}

/** What a client without an HTTP library would see, and how the connection ended. */
export function rawPost(url: string, protocol: Protocol, body: JsonObject): Promise<{ text: string; ending: string }> {
  const { hostname, port, pathname } = new URL(url + PATHS[protocol])
  const bytes = JSON.stringify(body)
  const head = [`POST ${pathname} HTTP/1.1`, `host: ${hostname}`, 'connection: close']
  const { promise, resolve } = Promise.withResolvers<{ text: string; ending: string }>()
  let text = ''
  let ending = 'closed'
  const socket = connect(Number(port), hostname, () => {
    socket.write(`${head.join('\r\n')}\r\ncontent-length: ${Buffer.byteLength(bytes)}\r\n\r\n${bytes}`)
  })
  socket.on('data', data => {
    text += data
  })
  socket.on('error', error => {
    ending = 'code' in error ? String(error.code) : error.message
  })
  socket.on('close', () => resolve({ text, ending }))
  return promise
}
