import { type Ask, type ImagePlace, isObject, type JsonObject } from '../../core/ask.ts'
import type { Capabilities } from '../../core/capabilities.ts'
import { type ErrorContext, errorObject, type Failure, invalid } from '../../core/failure.ts'
import type { Source } from '../../core/source.ts'
import type { FinishReason } from '../../core/turn.ts'
import { promptTokens, tokenCount, type Usage } from '../../core/usage.ts'
import { truncated } from '../answer.ts'
import {
  boolean,
  each,
  ITSELF,
  list,
  name,
  number,
  object,
  oneOf,
  optional,
  positiveInteger,
  refuseThread,
  requiredMessages,
  text,
  textOf,
  texts,
} from '../fields.ts'
import { asSource } from '../json.ts'
import { promptSize } from '../prompt.ts'
import type { Bill } from '../protocol.ts'
import { dataFrame, type Frame } from '../sse.ts'

// ── requests ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The dialect's own vendor allows no more; every one of them is held and paid for. */
const CHOICES_MAX = 128
const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const

/** Sections 2.3 to 2.6 and 4.1: everything the contract names is checked, everything else is accepted. */
export function read(body: JsonObject, written: string | Source): Ask {
  const source = asSource(written)
  const messages = requiredMessages(body)
  const images: ImagePlace[] = []
  each(messages, 'messages', (message, place) => checkMessage(message, place, images))
  const tools = optional(body.tools, 'tools', list) ?? NONE
  const toolNames: string[] = []
  each(tools, 'tools', tool => toolNames.push(checkTool(tool)))
  checkToolChoice(body.tool_choice, toolNames)
  checkFormat(body.response_format)
  checkScalars(body)
  refuseThread(body)
  const options = optional(body.stream_options, 'stream_options', object)
  return {
    protocol: 'chat',
    body,
    source,
    model: body.model as string,
    stream: optional(body.stream, 'stream', boolean) ?? false,
    includeUsage: optional(options?.include_usage, 'stream_options.include_usage', boolean) ?? false,
    showThinking: true,
    maxTokens: readMaxTokens(body),
    choices: readChoices(body.n),
    promptSize: promptSize(source),
    images,
    textTools: textToolNames(tools),
    legacyCalls: Array.isArray(body.functions) && tools.length === 0,
    wantsJson: isObject(body.response_format) && body.response_format.type === 'json_object',
  }
}

/** The contract promises JSON; an upstream without such a mode is asked in other ways. */
export function canPassOn({ body, wantsJson }: Ask, { jsonObject, structuredOutput }: Capabilities): boolean {
  if (wantsJson) return jsonObject
  return structuredOutput || !isObject(body.response_format) || body.response_format.type !== 'json_schema'
}

const NONE: readonly unknown[] = []
const NO_NAMES: ReadonlySet<string> = new Set()

const textToolNames = (tools: readonly unknown[]): ReadonlySet<string> =>
  tools.some(isTextTool) ? new Set(tools.filter(isTextTool).map(({ custom }) => textOf(custom.name))) : NO_NAMES

const isTextTool = (tool: unknown): tool is { readonly custom: JsonObject } => isObject(tool) && isObject(tool.custom)

function readMaxTokens(body: JsonObject): number | undefined {
  const older = optional(body.max_tokens, 'max_tokens', positiveInteger)
  return optional(body.max_completion_tokens, 'max_completion_tokens', positiveInteger) ?? older
}

function readChoices(value: unknown): number {
  const choices = optional(value, 'n', positiveInteger) ?? 1
  if (choices > CHOICES_MAX) throw invalid('n', `must be at most ${CHOICES_MAX}`)
  return choices
}

function checkMessage(value: unknown, place: number, images: ImagePlace[]): void {
  const message = object(value, ITSELF)
  const role = oneOf(message.role, ROLES, 'role')
  optional(message.name, 'name', text)
  if (role === 'tool') name(message.tool_call_id, 'tool_call_id')
  const calls = optional(message.tool_calls, 'tool_calls', list)
  if (calls) each(calls, 'tool_calls', checkToolCall)
  const { content } = message
  if (content === undefined || content === null || typeof content === 'string') return
  if (!Array.isArray(content)) throw invalid('content', 'must be a string, null or an array of parts')
  each(content, 'content', (part, index) => {
    const characters = checkPart(part)
    if (characters === undefined) return
    images.push({ param: `messages[${place}].content[${index}]`, message: place, part: [index], characters })
  })
}

/** Returns the size of an image, undefined for every other part. */
function checkPart(value: unknown): number | undefined {
  const part = object(value, ITSELF)
  const type = text(part.type, 'type')
  if (type === 'text') text(part.text, 'text')
  if (type !== 'image_url') return undefined
  return text(object(part.image_url, 'image_url').url, 'image_url.url').length
}

function checkToolCall(value: unknown): void {
  const call = object(value, ITSELF)
  name(call.id, 'id')
  const type = optional(call.type, 'type', text) ?? 'function'
  if (type !== 'function') return
  const called = object(call.function, 'function')
  name(called.name, 'function.name')
  text(called.arguments, 'function.arguments')
}

const TOOL_TYPES = ['function', 'custom'] as const

function checkTool(value: unknown): string {
  const tool = object(value, ITSELF)
  const type = oneOf(tool.type, TOOL_TYPES, 'type')
  const defined = object(tool[type], type)
  optional(defined.description, `${type}.description`, text)
  optional(defined.parameters, `${type}.parameters`, object)
  return name(defined.name, `${type}.name`)
}

function checkToolChoice(value: unknown, toolNames: readonly string[]): void {
  if (value === undefined || value === null) return
  if (typeof value === 'string') {
    oneOf(value, ['auto', 'none', 'required'], 'tool_choice')
    return
  }
  const choice = object(value, 'tool_choice')
  if (text(choice.type, 'tool_choice.type') !== 'function') return
  const wanted = name(object(choice.function, 'tool_choice.function').name, 'tool_choice.function.name')
  if (!toolNames.includes(wanted)) throw invalid('tool_choice.function.name', 'must name one of the tools')
}

function checkFormat(value: unknown): void {
  const format = optional(value, 'response_format', object)
  if (!format) return
  const type = oneOf(format.type, ['text', 'json_object', 'json_schema'], 'response_format.type')
  if (type !== 'json_schema') return
  const described = object(format.json_schema, 'response_format.json_schema')
  optional(described.schema, 'response_format.json_schema.schema', object)
}

function checkScalars(body: JsonObject): void {
  optional(body.temperature, 'temperature', number)
  optional(body.top_p, 'top_p', number)
  optional(body.presence_penalty, 'presence_penalty', number)
  optional(body.frequency_penalty, 'frequency_penalty', number)
  optional(body.stop, 'stop', texts)
  optional(body.user, 'user', text)
  optional(body.reasoning_effort, 'reasoning_effort', text)
  optional(body.parallel_tool_calls, 'parallel_tool_calls', boolean)
}

// ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What vendors send; unknown reasons end a turn like `stop`, never pass through. */
export function readFinishReason(value: unknown): FinishReason | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  switch (value) {
    case 'error':
    case 'network_error':
      throw truncated()
    case 'length':
      return 'length'
    case 'tool_calls':
    case 'function_call':
      return 'tool-calls'
    case 'content_filter':
    case 'sensitive':
      return 'refusal'
    default:
      return 'stop'
  }
}

export const FINISH_REASONS: Record<FinishReason, string> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  refusal: 'content_filter',
}

/**
 * Prompt tokens contain the cached ones here, while the vocabulary keeps the classes apart. Counters that are missing or
 * nonsense make it no report at all: better our own count than a free call.
 */
export function readUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  const prompt = tokenCount(value.prompt_tokens)
  const completion = tokenCount(value.completion_tokens)
  if (prompt === undefined || completion === undefined) return undefined
  const promptDetails = isObject(value.prompt_tokens_details) ? value.prompt_tokens_details : {}
  const outputDetails = isObject(value.completion_tokens_details) ? value.completion_tokens_details : {}
  const cacheRead = tokenCount(promptDetails.cached_tokens ?? value.prompt_cache_hit_tokens) ?? 0
  const cacheWrite = tokenCount(promptDetails.cache_write_tokens ?? promptDetails.cache_creation_tokens) ?? 0
  // Some upstreams leave reasoning out of the completion and show it in the total only; it is billed all the same.
  const output = Math.max(completion, (tokenCount(value.total_tokens) ?? 0) - prompt)
  const reasoning = Math.min(tokenCount(outputDetails.reasoning_tokens) ?? 0, output)
  // Some count more from the cache than they count in all.
  const input = Math.max(0, prompt - cacheRead - cacheWrite)
  return { input, cacheRead, cacheWrite, output, reasoning }
}

export function writeUsage({ usage, cost }: Bill): Record<string, unknown> {
  const prompt = promptTokens(usage)
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
    cost,
  }
}

// ── failures ────────────────────────────────────────────────────────────────────────────────────────────────────────

export const errorBody = (failure: Failure, context: ErrorContext): string =>
  JSON.stringify({ error: errorObject(failure, context) })

export const DONE = dataFrame('[DONE]')

export const isDone = (frame: Frame): boolean => frame.data.trim() === '[DONE]'

export const errorFrames = (failure: Failure, context: ErrorContext): string =>
  dataFrame(errorBody(failure, context)) + DONE
