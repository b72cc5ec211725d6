import { afterAll, beforeAll, test } from 'bun:test'
import { rmSync } from 'node:fs'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { CHAT, MESSAGES } from '../support/http.ts'
import { type ScriptedUpstream, scriptUpstream, type UpstreamVisit } from '../support/upstream.ts'

export type Protocol = 'chat' | 'messages'

/** Who asks in which protocol, and which one the upstream speaks. */
export interface Pair {
  readonly client: Protocol
  readonly upstream: Protocol
}

export const LIKE: readonly Pair[] = [
  { client: 'chat', upstream: 'chat' },
  { client: 'messages', upstream: 'messages' },
]
export const UNLIKE: readonly Pair[] = [
  { client: 'chat', upstream: 'messages' },
  { client: 'messages', upstream: 'chat' },
]
export const PAIRS: readonly Pair[] = [...LIKE, ...UNLIKE]
export const CHAT_CLIENTS = PAIRS.filter(pair => pair.client === 'chat')
export const MESSAGES_CLIENTS = PAIRS.filter(pair => pair.client === 'messages')

export const PATHS: Record<Protocol, string> = { chat: CHAT, messages: MESSAGES }

/** One test per pair. */
export function eachPair(title: string, run: (pair: Pair) => Promise<void>, pairs = PAIRS): void {
  for (const pair of pairs) test(`${nameOf(pair)}: ${title}`, () => run(pair))
}

/** One test per pair and way of answering: whole and streamed. */
export function eachWay(title: string, run: (pair: Pair, stream: boolean) => Promise<void>, pairs = PAIRS): void {
  for (const pair of pairs) {
    for (const stream of [false, true]) {
      test(`${nameOf(pair)}, ${stream ? 'streamed' : 'whole'}: ${title}`, () => run(pair, stream))
    }
  }
}

function nameOf({ client, upstream }: Pair): string {
  return `${client} client, ${upstream} upstream`
}

/** A running Duet, and which of its models stands behind which kind of upstream. */
export interface Stage {
  readonly duet: Duet
  readonly models: readonly JsonBody[]
  model(upstream: Protocol, fits?: (entry: JsonBody) => boolean): string
}

const isPlain = ({ supports, recommended }: JsonBody) => !supports.reasoning && !recommended
export const isReasoning = ({ supports, recommended }: JsonBody) => supports.reasoning && !recommended

/** One Duet for the file, on the built-in sandbox: even places speak chat, odd ones messages. */
export function useSandbox(): Stage {
  let duet: Duet | undefined
  let models: readonly JsonBody[] = []
  beforeAll(async () => {
    duet = await startDuet()
    models = await listModels(duet)
  })
  afterAll(() => end(duet))
  return {
    get duet() {
      return started(duet)
    },
    get models() {
      return models
    },
    model(upstream, fits = isPlain) {
      const parity = upstream === 'chat' ? 0 : 1
      const entry = models.find((each, place) => place % 2 === parity && fits(each))
      if (entry === undefined) throw new Error(`no such model behind a ${upstream} upstream`)
      return entry.id
    },
  }
}

/** The model that a scripted upstream knows, whichever protocol it speaks. */
export const VENDOR_MODEL = 'swift-2-large'
export const VENDOR_KEY = 'vendor-key-0123456789'

export interface ScriptedStage extends Stage {
  /** What the upstream does until it is told otherwise. */
  answer: (visit: UpstreamVisit) => Response | Promise<Response>
  /** The last request that reached the upstream. */
  readonly visit: UpstreamVisit
  readonly visits: readonly UpstreamVisit[]
}

/** One Duet for the file with two models, each behind a scripted upstream that speaks its protocol. */
export function useScript(modelLines = ''): ScriptedStage {
  let duet: Duet | undefined
  let upstream: ScriptedUpstream | undefined
  beforeAll(async () => {
    upstream = scriptUpstream(visit => stage.answer(visit))
    duet = await startDuet({ config: configOf(upstream.base, modelLines) })
  })
  afterAll(async () => {
    await end(duet)
    await upstream?.stop()
  })
  const stage: ScriptedStage = {
    answer: () => new Response('nothing is scripted', { status: 500 }),
    get duet() {
      return started(duet)
    },
    models: [{ id: 'acme/speaks-chat' }, { id: 'acme/speaks-messages' }],
    get visits() {
      return upstream?.requests ?? []
    },
    get visit() {
      const last = upstream?.requests.at(-1)
      if (last === undefined) throw new Error('nothing reached the upstream')
      return last
    },
    model: protocol => `acme/speaks-${protocol}`,
  }
  return stage
}

function configOf(base: string, modelLines: string): string {
  const protocols: readonly Protocol[] = ['chat', 'messages']
  const models = protocols.map(
    protocol => `
  - id: acme/speaks-${protocol}
    name: Speaks ${protocol}
    price: { input: 1, output: 4, cache_read: 0.1, cache_write: 1.25 }
    max_output_tokens: 8192
${modelLines}`,
  )
  const channels = protocols.map(
    protocol => `
  - name: vendor-${protocol}
    protocol: ${protocol}
    base_url: ${base}
    breaker: false
    api_key: ${VENDOR_KEY}
    models: { acme/speaks-${protocol}: ${VENDOR_MODEL} }`,
  )
  return `models:${models.join('')}\nchannels:${channels.join('')}\n`
}

async function listModels(duet: Duet): Promise<readonly JsonBody[]> {
  const response = await fetch(`${duet.base}/models`, { headers: { authorization: `Bearer ${duet.key}` } })
  const { data }: JsonBody = await response.json()
  return data
}

function started(duet: Duet | undefined): Duet {
  if (duet === undefined) throw new Error('Duet has not started')
  return duet
}

async function end(duet: Duet | undefined): Promise<void> {
  if (duet === undefined) return
  await duet.stop()
  rmSync(duet.folder, { recursive: true, force: true })
}

/** Both clients get the one address that the interface promises for both. */
export function chatClient({ duet }: Stage, options: { key?: string; base?: string; maxRetries?: number } = {}) {
  const { key = duet.key, base = duet.base, maxRetries = 0 } = options
  return new OpenAI({ baseURL: base, apiKey: key, maxRetries })
}

export function messagesClient({ duet }: Stage, options: { key?: string; base?: string; maxRetries?: number } = {}) {
  const { key = duet.key, base = duet.base, maxRetries = 0 } = options
  return new Anthropic({ baseURL: base, apiKey: key, maxRetries })
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** JSON text. */
  readonly arguments: string
}

/** One step of a conversation, in words of neither protocol. An image is a URL. */
export type Line =
  | { readonly user: string; readonly image?: string }
  | { readonly assistant: string; readonly calls?: readonly ToolCall[] }
  | { readonly results: readonly { readonly id: string; readonly text: string; readonly image?: string }[] }

export interface Tool {
  readonly name: string
  readonly description?: string
  readonly schema?: JsonBody
}

export interface Question {
  readonly model?: string
  readonly system?: string
  readonly messages: readonly Line[]
  readonly tools?: readonly Tool[]
  readonly toolChoice?: 'auto' | 'none' | 'any' | { readonly name: string }
  readonly parallel?: boolean
  /** The schema of the answer; `true` for any JSON object, which only chat clients can ask for. */
  readonly json?: JsonBody
  readonly maxTokens?: number
  readonly stream?: boolean
  /** Fields of the client's own protocol. */
  readonly more?: Readonly<Record<string, unknown>>
}

/** What the official client made of the answer, in words of neither protocol. */
export interface Reply {
  readonly id: string
  readonly model: string
  readonly text: string
  readonly reasoning: string
  readonly toolCalls: readonly ToolCall[]
  /** As chat says it. */
  readonly finish: string
  readonly usage: Usage
  /** The official client's own object. */
  readonly raw: JsonBody
}

export interface Usage {
  /** All of it, cached or not. */
  readonly input: number
  readonly output: number
}

export function ask(stage: Stage, pair: Pair, question: Question): Promise<Reply> {
  const body = bodyFor(stage, pair, question)
  return pair.client === 'chat' ? askChat(stage, body) : askMessages(stage, body)
}

/** The body that `ask` hands to the official client. */
export function bodyFor(stage: Stage, pair: Pair, question: Question): JsonBody {
  const model = question.model ?? stage.model(pair.upstream)
  const body = pair.client === 'chat' ? chatBody(question) : messagesBody(question)
  return { model, ...body, ...(question.stream && { stream: true }), ...question.more }
}

async function askChat(stage: Stage, body: JsonBody): Promise<Reply> {
  const { completions } = chatClient(stage).chat
  if (!body.stream) return chatReply(await completions.create(body))

  let reasoning = ''
  const stream = completions.stream({ stream_options: { include_usage: true }, ...body })
  // The helper keeps only the last fragment of a field that it does not know.
  stream.on('chunk', ({ choices }: JsonBody) => {
    reasoning += choices[0]?.delta.reasoning_content ?? ''
  })
  const reply = chatReply(await stream.finalChatCompletion())
  return { ...reply, reasoning }
}

async function askMessages(stage: Stage, body: JsonBody): Promise<Reply> {
  const { messages } = messagesClient(stage)
  return messagesReply(await (body.stream ? messages.stream(body).finalMessage() : messages.create(body)))
}

function chatReply(raw: JsonBody): Reply {
  const { message, finish_reason } = raw.choices[0]
  return {
    id: raw.id,
    model: raw.model,
    text: message.content ?? '',
    reasoning: message.reasoning_content ?? '',
    toolCalls: (message.tool_calls ?? []).map((call: JsonBody) => ({
      id: call.id,
      name: call.function.name,
      arguments: call.function.arguments,
    })),
    finish: finish_reason,
    usage: { input: raw.usage?.prompt_tokens, output: raw.usage?.completion_tokens },
    raw,
  }
}

const FINISHES: { readonly [reason: string]: string | undefined } = {
  end_turn: 'stop',
  max_tokens: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

function messagesReply(raw: JsonBody): Reply {
  const { usage } = raw
  const blocks = (type: string) => raw.content.filter((block: JsonBody) => block.type === type)
  return {
    id: raw.id,
    model: raw.model,
    text: blocks('text')
      .map((block: JsonBody) => block.text)
      .join(''),
    reasoning: blocks('thinking')
      .map((block: JsonBody) => block.thinking)
      .join(''),
    toolCalls: blocks('tool_use').map((block: JsonBody) => ({
      id: block.id,
      name: block.name,
      arguments: JSON.stringify(block.input),
    })),
    finish: FINISHES[raw.stop_reason] ?? raw.stop_reason,
    usage: {
      input: usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
      output: usage.output_tokens,
    },
    raw,
  }
}

function chatBody(question: Question): JsonBody {
  const { system, messages, tools, toolChoice, parallel, json, maxTokens } = question
  return {
    messages: [...(system === undefined ? [] : [{ role: 'system', content: system }]), ...messages.flatMap(chatLine)],
    ...(tools && { tools: tools.map(chatTool) }),
    ...(toolChoice && { tool_choice: chatChoice(toolChoice) }),
    ...(parallel !== undefined && { parallel_tool_calls: parallel }),
    ...(json && { response_format: chatFormat(json) }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
  }
}

function chatLine(line: Line): readonly JsonBody[] {
  if ('user' in line) return [{ role: 'user', content: chatContent(line.user, line.image) }]
  if ('results' in line) {
    return line.results.map(({ id, text, image }) => ({
      role: 'tool',
      tool_call_id: id,
      content: chatContent(text, image),
    }))
  }
  const calls = line.calls?.map(({ id, ...called }) => ({ id, type: 'function', function: called }))
  return [{ role: 'assistant', content: line.assistant || null, ...(calls && { tool_calls: calls }) }]
}

function chatContent(text: string, image: string | undefined): JsonBody {
  if (image === undefined) return text
  const picture = { type: 'image_url', image_url: { url: image } }
  return text === '' ? [picture] : [{ type: 'text', text }, picture]
}

function chatTool({ schema, ...named }: Tool): JsonBody {
  return { type: 'function', function: { ...named, ...(schema && { parameters: schema }) } }
}

function chatChoice(choice: NonNullable<Question['toolChoice']>): JsonBody {
  if (typeof choice === 'object') return { type: 'function', function: choice }
  return choice === 'any' ? 'required' : choice
}

function chatFormat(json: JsonBody): JsonBody {
  return json === true
    ? { type: 'json_object' }
    : { type: 'json_schema', json_schema: { name: 'answer', schema: json } }
}

/** The protocol wants a cap, so there is one for those who do not care. */
const MAX_TOKENS = 2000

function messagesBody(question: Question): JsonBody {
  const { system, messages, tools, toolChoice, parallel, json, maxTokens = MAX_TOKENS } = question
  const choice = messagesChoice(toolChoice, parallel)
  return {
    max_tokens: maxTokens,
    ...(system !== undefined && { system }),
    messages: messages.map(messagesLine),
    ...(tools && { tools: tools.map(messagesTool) }),
    ...(choice && { tool_choice: choice }),
    ...(json && { output_config: { format: { type: 'json_schema', schema: json } } }),
  }
}

function messagesLine(line: Line): JsonBody {
  if ('user' in line) return { role: 'user', content: messagesContent(line.user, line.image) }
  if ('results' in line) {
    const content = line.results.map(({ id, text, image }) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: messagesContent(text, image),
    }))
    return { role: 'user', content }
  }
  const calls = (line.calls ?? []).map(({ id, name, arguments: json }) => ({
    type: 'tool_use',
    id,
    name,
    input: JSON.parse(json),
  }))
  if (calls.length === 0) return { role: 'assistant', content: line.assistant }
  return {
    role: 'assistant',
    content: [...(line.assistant ? [{ type: 'text', text: line.assistant }] : []), ...calls],
  }
}

function messagesContent(text: string, image: string | undefined): JsonBody {
  if (image === undefined) return text
  const [, type, data] = /^data:([^;]+);base64,(.*)$/.exec(image) ?? []
  const source = data === undefined ? { type: 'url', url: image } : { type: 'base64', media_type: type, data }
  const picture = { type: 'image', source }
  return text === '' ? [picture] : [{ type: 'text', text }, picture]
}

function messagesTool({ schema = { type: 'object' }, ...named }: Tool): JsonBody {
  return { ...named, input_schema: schema }
}

function messagesChoice(choice: Question['toolChoice'], parallel: boolean | undefined): JsonBody {
  if (choice === undefined && parallel !== false) return undefined
  const form = typeof choice === 'object' ? { type: 'tool', ...choice } : { type: choice ?? 'auto' }
  return { ...form, ...(parallel === false && { disable_parallel_tool_use: true }) }
}

/** The clients' promises are lazy: only a `then` starts them. */
export function failureOf(answer: PromiseLike<unknown>): Promise<JsonBody> {
  return Promise.resolve(
    answer.then(
      () => undefined,
      (error: unknown) => error,
    ),
  )
}
