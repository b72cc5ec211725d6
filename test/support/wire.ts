import { expect } from 'bun:test'
import type { Duet, JsonBody } from './duet.ts'
import { type Answer, CHAT, type Frame, framesOf, MESSAGES, user } from './http.ts'

export type ProtocolName = 'chat' | 'messages'

export const PROTOCOLS: readonly ProtocolName[] = ['chat', 'messages']
export const PATHS: Readonly<Record<ProtocolName, string>> = { chat: CHAT, messages: MESSAGES }

/** Models of the built-in catalog behind each kind of upstream: the sandbox alternates between the two. */
export const UPSTREAMS = [
  { upstream: 'chat', model: 'openai/gpt-4.1', thinker: 'openai/gpt-5.2' },
  { upstream: 'messages', model: 'anthropic/claude-opus-4.6', thinker: 'openai/gpt-5-mini' },
] as const

/** Every protocol over every kind of upstream. */
export const PAIRS = PROTOCOLS.flatMap(protocol =>
  UPSTREAMS.map(row => ({
    title: `${protocol} over a ${row.upstream} upstream`,
    protocol,
    path: PATHS[protocol],
    ...row,
  })),
)

/** A complete request in either protocol. */
export const ask = (protocol: ProtocolName, model: string, content: unknown, more: object = {}) => ({
  model,
  ...(protocol === 'messages' ? { max_tokens: 1024 } : {}),
  messages: user(content),
  ...more,
})

/** The same function tool in either protocol, as the request's `tools` field. */
export const toolNamed = (protocol: ProtocolName, name: string, schema: object = { type: 'object', properties: {} }) =>
  protocol === 'chat'
    ? { tools: [{ type: 'function', function: { name, parameters: schema } }] }
    : { tools: [{ name, input_schema: schema }] }

/** An answer reduced to what both protocols say. */
export interface Reading {
  readonly text: string
  readonly stop: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: JsonBody }[]
  readonly input: number
  readonly output: number
}

export const read = (protocol: ProtocolName, body: JsonBody): Reading =>
  protocol === 'chat' ? readChat(body) : readMessages(body)

function readChat({ choices: [choice], usage }: JsonBody): Reading {
  const { content, tool_calls = [] } = choice.message
  return {
    text: content ?? '',
    stop: choice.finish_reason,
    calls: tool_calls.map(({ id, function: { name, arguments: text } }: JsonBody) => ({
      id,
      name,
      input: JSON.parse(text),
    })),
    input: usage.prompt_tokens,
    output: usage.completion_tokens,
  }
}

function readMessages({ content, stop_reason, usage }: JsonBody): Reading {
  return {
    text: content.map((block: JsonBody) => block.text ?? '').join(''),
    stop: stop_reason,
    calls: content.filter((block: JsonBody) => block.type === 'tool_use'),
    input: usage.input_tokens,
    output: usage.output_tokens,
  }
}

/** The text of a stream, put together as a client would. */
export function streamedText(protocol: ProtocolName, frames: readonly Frame[]): string {
  const texts = frames.map(({ json }) =>
    protocol === 'chat' ? json?.choices?.[0]?.delta?.content : json?.delta?.type === 'text_delta' && json.delta.text,
  )
  return texts.filter(Boolean).join('')
}

export interface WantedError {
  readonly status: number
  readonly code?: string
  readonly type?: 'duet_api_error' | 'invalid_request_error'
  /** Without the request id at its end. */
  readonly message?: string | RegExp
  /** Null where the field must be absent. */
  readonly param?: string | null
  /** Where given, the superset of the messages protocol is checked too. */
  readonly protocol?: ProtocolName
}

const REQUEST_ID = /^[a-z]{20,}$/

/** Checks what every error answer owes its caller, and what this one owes in particular; returns its `error`. */
export function expectError(answer: Answer, wanted: WantedError): JsonBody {
  const { status, protocol, ...inside } = wanted
  expect({ status: answer.status, type: answer.headers.get('content-type') }).toEqual({
    status,
    type: expect.stringMatching(/^application\/json\b/),
  })
  expectErrorObject(answer.body.error, idOf(answer), inside)
  expect(answer.headers.get('x-should-retry')).toBe(isPermanent(wanted) ? 'false' : null)
  if (protocol) expect(answer.body.type).toBe(protocol === 'messages' ? 'error' : undefined)
  return answer.body.error
}

type WantedObject = Omit<WantedError, 'status' | 'protocol'>

/** The `error` object alone, as it also stands in a stream. */
export function expectErrorObject(error: JsonBody, id: string, { message, param, ...exact }: WantedObject): void {
  const suffix = ` (request id: ${id})`
  // Bun writes the matchers into what it compares, so it gets a copy.
  expect({ ...error }).toMatchObject({ type: expect.any(String), code: expect.any(String), ...exact })
  expect(error.message).toEndWith(suffix)
  const bare = error.message.slice(0, -suffix.length)
  if (typeof message === 'string') expect(bare).toBe(message)
  else if (message) expect(bare).toMatch(message)
  if (param === null) expect(error).not.toHaveProperty('param')
  else if (param !== undefined) expect(error.param).toBe(param)
}

/** The request id of an answer: letters only, and the same in both headers. */
export function idOf({ headers }: Pick<Answer, 'headers'>): string {
  const id = headers.get('x-request-id') ?? ''
  expect(id).toMatch(REQUEST_ID)
  expect(headers.get('request-id')).toBe(id)
  return id
}

/** Decisions, "Errors": the mistakes that no retry can mend. */
function isPermanent({ status, code }: WantedError): boolean {
  if (status === 500) return code === 'invalid_request'
  if (status === 503) return code === 'model_not_found'
  return [400, 401, 403, 404, 409, 413].includes(status)
}

/** The error frame that ends a broken stream, after the checks that it really is its end. */
export function brokenEnd(protocol: ProtocolName, text: string): JsonBody {
  const frames = framesOf(text)
  if (protocol === 'messages') {
    const last = frames.at(-1)
    expect(last).toMatchObject({ event: 'error', json: { type: 'error' } })
    expect(frames.filter(({ event }) => event === 'error')).toHaveLength(1)
    expect(frames.map(({ event }) => event)).not.toContain('message_stop')
    return last?.json.error
  }
  const reasons = frames.flatMap(({ json }) => json?.choices?.[0]?.finish_reason ?? [])
  expect(reasons).toEqual([])
  expect(frames.at(-1)?.data).toBe('[DONE]')
  return frames.at(-2)?.json.error
}

export interface CallerFields {
  readonly balance?: string
  readonly group?: string
  readonly cap?: string
  readonly models?: readonly string[]
  readonly expires_at?: string
  readonly max_concurrent?: number
  readonly max_per_minute?: number
}

export interface Caller {
  readonly account: string
  readonly keyId: string
  readonly key: string
}

let callers = 0

/** A key of an account of its own, made through the management API. */
export async function newCaller(duet: Duet, fields: CallerFields = {}): Promise<Caller> {
  const { balance = '10', group = 'default', ...limits } = fields
  const name = `caller-${++callers}`
  const account = await duet.admin('POST', '/api/accounts', { name, group, balance })
  expect(account.status).toBe(201)
  const made = await duet.admin('POST', '/api/keys', { account: account.body.id, name, ...limits })
  expect(made.status).toBe(201)
  return { account: account.body.id, keyId: made.body.id, key: made.body.key }
}

export async function balanceOf(duet: Duet, account: string): Promise<string> {
  const { body } = await duet.admin('GET', `/api/accounts/${account}`)
  return body.balance
}

/** For what happens in its own time and announces itself nowhere: asks again until it is so. */
export async function eventually<T>(look: () => Promise<T> | T, isSo: (seen: T) => boolean, msMax = 5_000): Promise<T> {
  const deadline = Date.now() + msMax
  for (;;) {
    const seen = await look()
    if (isSo(seen) || Date.now() > deadline) return seen
    await Bun.sleep(10)
  }
}
