import { type Ask, isObject, type JsonObject } from '../../core/ask.ts'
import { invalid } from '../../core/failure.ts'
import type {
  AssistantPart,
  Effort,
  OutputFormat,
  Tool,
  ToolChoice,
  ToolResult,
  Turn,
  TurnMessage,
  UserPart,
} from '../../core/turn.ts'
import { asNumber, asText } from '../fields.ts'
import { stringify } from '../json.ts'
import { legalToolId, legalUserId } from '../names.ts'
import type { EncodedRequest, Target } from '../protocol.ts'

/** Ids longer than this are refused by the dialect's own vendor. */
const TOOL_ID_LENGTH_MAX = 40
const STOPS_MAX = 4

// ── dialect -> vocabulary ───────────────────────────────────────────────────────────────────────────────────────────

/** What the vocabulary holds, and what is only a switch of this dialect. */
const CARRIED = new Set(
  `model messages stream stream_options tools tool_choice parallel_tool_calls functions function_call response_format
   reasoning_effort max_tokens max_completion_tokens temperature top_p stop user safety_identifier n`.split(/\s+/),
)

export function decodeRequest(ask: Ask): Turn {
  const { body } = ask
  // One answer is all the other dialect can give; a silent single choice would be a lie.
  if (ask.choices > 1) throw invalid('n', 'must be 1 for this model')
  const dropped = new Set(Object.keys(body).filter(key => !CARRIED.has(key) && body[key] !== null))
  const messages = body.messages as readonly JsonObject[]
  const { system, rest } = splitSystem(messages)
  if ([...system, ...((body.tools ?? []) as JsonObject[])].some(hasCacheControl)) dropped.add('cache_control')
  return {
    system: system.map(contentText).filter(Boolean),
    messages: rest.flatMap(message => decodeMessage(message, dropped)),
    tools: decodeTools(body, dropped),
    toolChoice: decodeToolChoice(body),
    parallelTools: body.parallel_tool_calls !== false,
    output: decodeFormat(body.response_format),
    effort: decodeEffort(body.reasoning_effort),
    maxTokens: ask.maxTokens,
    temperature: asNumber(body.temperature),
    topP: asNumber(body.top_p),
    stop: [body.stop ?? []].flat() as string[],
    user: asText(body.safety_identifier) ?? asText(body.user),
    stream: ask.stream,
    dropped: [...dropped],
  }
}

/** The leading run is the system prompt. A conversation may not be empty, so a lone system message is what is asked. */
function splitSystem(messages: readonly JsonObject[]): Record<'system' | 'rest', readonly JsonObject[]> {
  const leading = messages.findIndex(message => !isSystem(message))
  if (leading !== -1) return { system: messages.slice(0, leading), rest: messages.slice(leading) }
  return { system: messages.slice(0, -1), rest: [{ ...messages.at(-1), role: 'user' }] }
}

/** On a message, a tool, or a part of a message. */
const hasCacheControl = ({ cache_control, content }: JsonObject): boolean =>
  Boolean(cache_control) || (Array.isArray(content) && content.some(part => isObject(part) && part.cache_control))

const isSystem = (message: JsonObject): boolean => message.role === 'system' || message.role === 'developer'

function decodeMessage(message: JsonObject, dropped: Set<string>): TurnMessage[] {
  if (message.cache_control) dropped.add('cache_control')
  switch (message.role) {
    case 'system':
    case 'developer':
      return [{ role: 'system', text: contentText(message) }]
    case 'assistant':
      if (message.reasoning_content) dropped.add('reasoning_content')
      return [{ role: 'assistant', parts: decodeAssistant(message) }]
    case 'tool':
      return [{ role: 'user', parts: [toolResult(message.tool_call_id as string, message)] }]
    case 'function':
      return [{ role: 'user', parts: [toolResult(legacyCallId(message.name), message)] }]
    default:
      return [{ role: 'user', parts: decodeUserParts(message.content, dropped) }]
  }
}

function decodeUserParts(content: unknown, dropped: Set<string>): UserPart[] {
  if (!Array.isArray(content)) return typeof content === 'string' ? [{ type: 'text', text: content }] : []
  return (content as JsonObject[]).flatMap((part): UserPart[] => {
    if (part.cache_control) dropped.add('cache_control')
    if (part.type === 'text') return [{ type: 'text', text: part.text as string }]
    if (part.type === 'image_url') return [{ type: 'image', url: (part.image_url as { url: string }).url }]
    dropped.add(String(part.type))
    return []
  })
}

function decodeAssistant(message: JsonObject): AssistantPart[] {
  const parts: AssistantPart[] = []
  const text = contentText(message)
  if (text) parts.push({ type: 'text', text })
  for (const call of (message.tool_calls ?? []) as JsonObject[]) {
    if (!isObject(call.function)) continue
    parts.push({ type: 'tool-call', id: call.id as string, ...called(call.function) })
  }
  if (isObject(message.function_call)) {
    parts.push({ type: 'tool-call', id: legacyCallId(message.function_call.name), ...called(message.function_call) })
  }
  return parts
}

const called = (made: JsonObject) => ({ name: String(made.name), arguments: String(made.arguments ?? '') })

/** Calls of the legacy form have no id; the name ties a call to its answer. */
const legacyCallId = (name: unknown): string => `call_${name}`

const toolResult = (id: string, message: JsonObject): ToolResult => ({
  type: 'tool-result',
  id,
  text: contentText(message),
  isError: false,
})

/** Text of a message whose content is a string, null, or parts; a refusal is what was said instead of a text. */
function contentText({ content }: JsonObject): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return (content as JsonObject[]).map(part => asText(part.text) ?? asText(part.refusal) ?? '').join('')
}

function decodeTools(body: JsonObject, dropped: Set<string>): Tool[] {
  const tools = ((body.tools ?? []) as JsonObject[]).flatMap(tool => {
    if (isObject(tool.function)) return [tool.function]
    dropped.add('custom_tool')
    return []
  })
  const legacy = Array.isArray(body.functions) ? body.functions.filter(isObject) : []
  const allowed = allowedTools(body)
  const usable = [...tools, ...legacy].filter(({ name }) => !allowed || allowed.names.has(name))
  return usable.map(({ name, description, parameters }) => ({
    name: String(name),
    description: asText(description),
    schema: isObject(parameters) ? parameters : {},
  }))
}

/** A choice that names several tools: in the other dialect, the rest is simply not offered. */
function allowedTools({ tool_choice: choice }: JsonObject): { mode: unknown; names: Set<unknown> } | undefined {
  if (!isObject(choice) || choice.type !== 'allowed_tools' || !isObject(choice.allowed_tools)) return undefined
  const { mode, tools } = choice.allowed_tools
  const named = Array.isArray(tools) ? tools.filter(isObject) : []
  return { mode, names: new Set(named.map(tool => (isObject(tool.function) ? tool.function.name : tool.name))) }
}

function decodeToolChoice(body: JsonObject): ToolChoice | undefined {
  const allowed = allowedTools(body)
  const choice = allowed ? allowed.mode : (body.tool_choice ?? body.function_call)
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { type: choice }
  if (!isObject(choice)) return undefined
  const name = isObject(choice.function) ? choice.function.name : choice.name
  return typeof name === 'string' ? { type: 'tool', name } : undefined
}

function decodeFormat(format: unknown): OutputFormat {
  if (!isObject(format)) return { type: 'text' }
  if (format.type === 'json_object') return { type: 'json' }
  if (format.type !== 'json_schema' || !isObject(format.json_schema)) return { type: 'text' }
  const { name, schema } = format.json_schema
  return isObject(schema) ? { type: 'schema', name: asText(name) ?? 'output', schema } : { type: 'json' }
}

const EFFORTS: Record<string, Effort> = {
  none: 'none',
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
}

const decodeEffort = (value: unknown): Effort | undefined =>
  typeof value === 'string' && Object.hasOwn(EFFORTS, value) ? EFFORTS[value] : undefined

// ── vocabulary -> dialect ───────────────────────────────────────────────────────────────────────────────────────────

export function encodeRequest(turn: Turn, target: Target): EncodedRequest {
  const system = turn.system.length > 0 ? [{ role: 'system', content: turn.system.join('\n\n') }] : []
  const hasTools = turn.tools.length > 0
  const body = {
    model: target.model,
    messages: [...system, ...inOrder(turn.messages).flatMap(encodeMessage)],
    tools: hasTools ? turn.tools.map(encodeTool) : undefined,
    tool_choice: hasTools && turn.toolChoice ? encodeToolChoice(turn.toolChoice) : undefined,
    parallel_tool_calls: hasTools && !turn.parallelTools ? false : undefined,
    response_format: encodeFormat(turn.output),
    reasoning_effort: target.reasoning && turn.effort !== 'none' ? turn.effort : undefined,
    [target.maxTokensField]: target.maxTokens && Math.min(target.maxTokens, target.maxOutputTokens),
    temperature: turn.temperature,
    top_p: turn.topP,
    stop: turn.stop.length > 0 ? turn.stop.slice(0, STOPS_MAX) : undefined,
    user: turn.user && legalUserId(turn.user),
    stream: turn.stream,
    stream_options: turn.stream ? { include_usage: true } : undefined,
  }
  const dropped = [
    ...(turn.stop.length > STOPS_MAX ? ['stop_sequences'] : []),
    ...(turn.effort && turn.effort !== 'none' && !target.reasoning ? ['effort'] : []),
  ]
  return { body: stringify(body), dropped }
}

/**
 * Calls are followed by their results at once, all calls of a turn in one message. The other dialect joins messages of
 * one role and takes a word of the system anywhere; here such a word waits until the results are told.
 */
function inOrder(messages: readonly TurnMessage[]): TurnMessage[] {
  const ordered: TurnMessage[] = []
  const waiting: TurnMessage[] = []
  for (const message of messages) {
    const last = ordered.at(-1)
    if (message.role === 'system' && last && hasCalls(last)) waiting.push(message)
    else if (message.role === 'assistant' && last?.role === 'assistant') {
      ordered[ordered.length - 1] = { role: 'assistant', parts: [...last.parts, ...message.parts] }
    } else if (message.role === 'user' && last?.role === 'user' && hasResults(message)) {
      ordered[ordered.length - 1] = { role: 'user', parts: [...last.parts, ...message.parts] }
    } else ordered.push(...(hasResults(message) ? [message, ...waiting.splice(0)] : [...waiting.splice(0), message]))
  }
  return [...ordered, ...waiting]
}

const hasCalls = (message: TurnMessage): boolean =>
  message.role === 'assistant' && message.parts.some(({ type }) => type === 'tool-call')

const hasResults = (message: TurnMessage): boolean =>
  message.role === 'user' && message.parts.some(({ type }) => type === 'tool-result')

function encodeMessage(message: TurnMessage): unknown[] {
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: message.text }]
    case 'assistant':
      return [encodeAssistant(message.parts)]
    case 'user':
      return encodeUser(message.parts)
  }
}

/** Results must follow the calls they answer at once, so they come before whatever else the user says. */
function encodeUser(parts: readonly UserPart[]): unknown[] {
  const results = parts.filter(part => part.type === 'tool-result')
  const said = parts
    .filter(part => part.type !== 'tool-result')
    .filter(part => part.type !== 'text' || part.text !== '')
  const answers = results.map(({ id, text, isError }) => ({
    role: 'tool',
    tool_call_id: legalToolId(id, TOOL_ID_LENGTH_MAX),
    content: isError && !text.startsWith('Error') ? `Error: ${text}` : text,
  }))
  if (said.length === 0) return results.length > 0 ? answers : [{ role: 'user', content: '' }]
  return [...answers, { role: 'user', content: encodeSaid(said) }]
}

/** A plain string wherever possible: several servers of this dialect refuse arrays. */
function encodeSaid(said: readonly Exclude<UserPart, ToolResult>[]): unknown {
  const texts = said.flatMap(part => (part.type === 'text' ? [part.text] : []))
  if (texts.length === said.length) return texts.join('\n\n')
  return said.map(part =>
    part.type === 'text' ? { type: 'text', text: part.text } : { type: 'image_url', image_url: { url: part.url } },
  )
}

function encodeAssistant(parts: readonly AssistantPart[]): unknown {
  const text = parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('')
  const calls = parts.flatMap(part => {
    if (part.type !== 'tool-call') return []
    const { id, name } = part
    const made = { name, arguments: part.arguments || '{}' }
    return [{ id: legalToolId(id, TOOL_ID_LENGTH_MAX), type: 'function', function: made }]
  })
  if (calls.length === 0) return { role: 'assistant', content: text }
  return { role: 'assistant', content: text || null, tool_calls: calls }
}

function encodeTool({ name, description, schema }: Tool): unknown {
  return {
    type: 'function',
    function: { name, description, parameters: { properties: {}, ...schema, type: 'object' } },
  }
}

const encodeToolChoice = (choice: ToolChoice): unknown =>
  choice.type === 'tool' ? { type: 'function', function: { name: choice.name } } : choice.type

function encodeFormat(output: OutputFormat): unknown {
  switch (output.type) {
    case 'text':
      return undefined
    case 'json':
      return { type: 'json_object' }
    case 'schema':
      return { type: 'json_schema', json_schema: { name: output.name, schema: output.schema } }
  }
}
