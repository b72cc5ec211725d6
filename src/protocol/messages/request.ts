import { type Ask, isObject, type JsonObject } from '../../core/ask.ts'
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
import { IMAGE_OMITTED } from '../images.ts'
import { elements, member, RawJson, rawAt, root, stringify } from '../json.ts'
import { legalToolId, legalUserId } from '../names.ts'
import type { EncodedRequest, Target } from '../protocol.ts'

const TOOL_ID_LENGTH_MAX = 64
/** Neither an empty message nor an empty text is legal in this dialect. */
export const PLACEHOLDER = '.'

// ── dialect -> vocabulary ───────────────────────────────────────────────────────────────────────────────────────────

/** What the vocabulary holds, and what is only a switch of this dialect. */
const CARRIED = new Set(
  `model messages system max_tokens stream tools tool_choice thinking output_config metadata
   temperature top_p stop_sequences`.split(/\s+/),
)

/** Changes with every version of one agent; forwarding it would spoil the upstream's prompt cache. */
const BILLING_BLOCK = 'x-anthropic-billing-header:'

export function decodeRequest(ask: Ask): Turn {
  const { body } = ask
  const dropped = new Set(Object.keys(body).filter(key => !CARRIED.has(key) && body[key] !== null))
  const choice = isObject(body.tool_choice) ? body.tool_choice : {}
  return {
    system: decodeSystem(body.system, dropped),
    messages: decodeMessages(ask, dropped),
    tools: decodeTools(body.tools, dropped),
    toolChoice: decodeToolChoice(choice),
    parallelTools: choice.disable_parallel_tool_use !== true,
    output: decodeFormat(body.output_config),
    effort: decodeEffort(body),
    maxTokens: ask.maxTokens,
    temperature: asNumber(body.temperature),
    topP: asNumber(body.top_p),
    stop: (body.stop_sequences ?? []) as string[],
    user: isObject(body.metadata) ? asText(body.metadata.user_id) : undefined,
    stream: ask.stream,
    dropped: [...dropped],
  }
}

function decodeSystem(system: unknown, dropped: Set<string>): string[] {
  if (typeof system === 'string') return system === '' ? [] : [system]
  return ((system ?? []) as JsonObject[]).flatMap(block => {
    if (block.cache_control) dropped.add('cache_control')
    const text = asText(block.text) ?? ''
    return text === '' || text.startsWith(BILLING_BLOCK) ? [] : [text]
  })
}

function decodeMessages({ body, text }: Ask, dropped: Set<string>): TurnMessage[] {
  const list = member(text, root(text), 'messages')
  const spans = list ? elements(text, list.start) : []
  return (body.messages as JsonObject[]).map((message, place): TurnMessage => {
    if (message.role === 'system') return { role: 'system', text: systemText(message) }
    if (message.role === 'user') return { role: 'user', parts: decodeUserParts(message, dropped) }
    const inputs = () => rawInputs(text, spans[place]?.start ?? 0)
    return { role: 'assistant', parts: decodeAssistant(message, inputs, dropped) }
  })
}

export const systemText = (message: JsonObject): string => blocks(message).map(blockText).join('\n\n')

/** The blocks of a message whose content may be a plain string. */
function blocks({ content }: JsonObject): JsonObject[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : ((content ?? []) as JsonObject[])
}

/** The inputs of a message's tool calls as they were written: digits and the order of keys survive. */
function rawInputs(text: string, at: number): (string | undefined)[] {
  const content = member(text, at, 'content')
  return content ? elements(text, content.start).map(({ start }) => rawAt(text, start, 'input')) : []
}

function decodeUserParts(message: JsonObject, dropped: Set<string>): UserPart[] {
  return blocks(message).flatMap((block): UserPart[] => {
    if (block.cache_control) dropped.add('cache_control')
    if (block.type === 'tool_result') return [decodeResult(block)]
    if (block.type === 'image') return [{ type: 'image', url: imageUrl(block.source as JsonObject) }]
    const text = blockText(block)
    if (block.type !== 'text' && text === '') dropped.add(String(block.type))
    return text === '' ? [] : [{ type: 'text', text }]
  })
}

function decodeResult(block: JsonObject): ToolResult {
  const texts = blocks(block).map(part => (part.type === 'image' ? IMAGE_OMITTED : blockText(part)))
  return {
    type: 'tool-result',
    id: block.tool_use_id as string,
    text: texts.filter(Boolean).join('\n'),
    isError: block.is_error === true,
  }
}

function decodeAssistant(
  message: JsonObject,
  inputs: () => (string | undefined)[],
  dropped: Set<string>,
): AssistantPart[] {
  const parts = blocks(message)
  const raw = parts.some(({ type }) => type === 'tool_use') ? inputs() : []
  return parts.flatMap((block, place): AssistantPart[] => {
    if (block.cache_control) dropped.add('cache_control')
    if (block.type === 'tool_use') {
      const { id, name } = block as { id: string; name: string }
      return [{ type: 'tool-call', id, name, arguments: raw[place] ?? '{}' }]
    }
    const text = block.type === 'text' ? blockText(block) : ''
    if (block.type !== 'text') dropped.add(String(block.type))
    return text === '' ? [] : [{ type: 'text', text }]
  })
}

/** The text of blocks that have one: texts, plain documents, search results, loaded tools. */
function blockText(block: JsonObject): string {
  if (typeof block.text === 'string') return block.text
  if (block.type === 'tool_reference') return `[tool loaded: ${block.tool_name}]`
  if (block.type === 'search_result' && Array.isArray(block.content))
    return block.content.filter(isObject).map(blockText).join('\n')
  const source = isObject(block.source) ? block.source : {}
  return block.type === 'document' && source.type === 'text' ? (asText(source.data) ?? '') : ''
}

const imageUrl = (source: JsonObject): string =>
  source.type === 'base64' ? `data:${source.media_type};base64,${source.data}` : String(source.url ?? '')

function decodeTools(tools: unknown, dropped: Set<string>): Tool[] {
  return ((tools ?? []) as JsonObject[]).flatMap(({ type, name, description, input_schema, cache_control }) => {
    if (cache_control) dropped.add('cache_control')
    if (isObject(input_schema))
      return [{ name: name as string, description: asText(description), schema: input_schema }]
    // A tool that only the dialect's own vendor can run would be refused by any other.
    dropped.add(String(type))
    return []
  })
}

function decodeToolChoice(choice: JsonObject): ToolChoice | undefined {
  switch (choice.type) {
    case 'auto':
    case 'none':
      return { type: choice.type }
    case 'any':
      return { type: 'required' }
    case 'tool':
      return { type: 'tool', name: choice.name as string }
    default:
      return undefined
  }
}

function decodeFormat(config: unknown): OutputFormat {
  const format = isObject(config) && isObject(config.format) ? config.format : {}
  return isObject(format.schema) ? { type: 'schema', name: 'output', schema: format.schema } : { type: 'text' }
}

function decodeEffort({ thinking, output_config: config }: JsonObject): Effort | undefined {
  const asked = isObject(config) ? asText(config.effort) : undefined
  if (asked === 'low' || asked === 'medium') return asked
  if (asked !== undefined) return 'high'
  if (!isObject(thinking)) return undefined
  if (thinking.type === 'disabled') return 'none'
  if (thinking.type !== 'enabled' || typeof thinking.budget_tokens !== 'number') return undefined
  return thinking.budget_tokens < 2048 ? 'low' : thinking.budget_tokens < 8192 ? 'medium' : 'high'
}

// ── vocabulary -> dialect ───────────────────────────────────────────────────────────────────────────────────────────

/** The dialect has no plain JSON mode: a tool that must be called has a JSON input. */
const OUTPUT_TOOL = 'structured_output'

export function encodeRequest(turn: Turn, target: Target): EncodedRequest {
  const { tools, toolChoice, outputTool } = offer(turn)
  const maxTokens = Math.min(target.maxTokens ?? target.maxOutputTokens, target.maxOutputTokens)
  const isForced = toolChoice?.type === 'tool' || toolChoice?.type === 'required'
  const thinking = isForced ? undefined : encodeThinking(turn.effort, maxTokens, target)
  const thinks = thinking?.type === 'enabled'
  const stops = turn.stop.filter(stop => stop.trim() !== '')
  const body = {
    model: target.model,
    max_tokens: maxTokens,
    system: turn.system.length > 0 ? turn.system.join('\n') : undefined,
    messages: encodeMessages(turn.messages),
    tools: tools.length > 0 ? tools.map(encodeTool) : undefined,
    tool_choice: tools.length > 0 ? encodeToolChoice(toolChoice, turn.parallelTools) : undefined,
    thinking,
    // Values above 1 are legal in the other dialect; sent together with top_p, or while thinking, they are refused.
    temperature: turn.temperature !== undefined && !thinks ? Math.min(turn.temperature, 1) : undefined,
    top_p: turn.temperature === undefined && !thinks ? turn.topP : undefined,
    stop_sequences: stops.length > 0 ? stops : undefined,
    metadata: turn.user ? { user_id: legalUserId(turn.user) } : undefined,
    stream: turn.stream,
  }
  const dropped = [
    ...(turn.topP !== undefined && body.top_p === undefined ? ['top_p'] : []),
    ...(stops.length < turn.stop.length ? ['stop'] : []),
    ...(turn.temperature !== undefined && body.temperature === undefined ? ['temperature'] : []),
    ...(turn.effort && turn.effort !== 'none' && !thinks ? ['effort'] : []),
  ]
  return { body: stringify(body), dropped, ...(outputTool === undefined ? {} : { outputTool }) }
}

type Offer = Pick<Turn, 'tools' | 'toolChoice'> & { readonly outputTool?: string }

/** The tools of a turn, and the one that gives a JSON answer. The model must call one of them, so it cannot but answer. */
function offer({ tools, toolChoice, output }: Turn): Offer {
  if (output.type === 'text' || toolChoice?.type === 'tool') return { tools, toolChoice }
  const schema = output.type === 'schema' ? output.schema : { type: 'object', additionalProperties: true }
  const json: Tool = { name: OUTPUT_TOOL, description: 'Gives the answer as a JSON object.', schema }
  const others = toolChoice?.type === 'none' ? [] : tools
  const choice: ToolChoice = others.length > 0 ? { type: 'required' } : { type: 'tool', name: OUTPUT_TOOL }
  return { tools: [json, ...others], toolChoice: choice, outputTool: OUTPUT_TOOL }
}

const BUDGETS: Record<Exclude<Effort, 'none'>, number> = { low: 1024, medium: 4096, high: 16384 }
/** The dialect's own vendor refuses smaller budgets. */
const BUDGET_MIN = 1024

function encodeThinking(effort: Effort | undefined, maxTokens: number, { reasoning }: Target) {
  if (!effort || !reasoning) return undefined
  if (effort === 'none') return { type: 'disabled' }
  const budget = Math.min(BUDGETS[effort], maxTokens - 1)
  return budget < BUDGET_MIN ? undefined : { type: 'enabled', budget_tokens: budget }
}

interface WireMessage {
  readonly role: 'user' | 'assistant'
  readonly content: unknown[]
}

/** Roles must alternate, a user begins and ends, results come first: chat promises none of this. */
function encodeMessages(messages: readonly TurnMessage[]): WireMessage[] {
  const merged: WireMessage[] = []
  for (const message of withUniqueIds(messages)) {
    const { role, content } = encodeMessage(message)
    const last = merged.at(-1)
    if (last?.role === role) last.content.push(...content)
    else merged.push({ role, content })
  }
  if (merged[0]?.role !== 'user') merged.unshift({ role: 'user', content: [] })
  if (merged.at(-1)?.role === 'assistant') merged.push({ role: 'user', content: [{ type: 'text', text: 'Continue.' }] })
  return merged.map(({ role, content }) => ({ role, content: encodeContent(content as JsonObject[]) }))
}

/** Chat lets every turn number its calls anew; here an id stands for one call of the whole conversation. */
function withUniqueIds(messages: readonly TurnMessage[]): TurnMessage[] {
  const uses = new Map<string, number>()
  const latest = (id: string) => ((uses.get(id) ?? 1) > 1 ? `${id}_${uses.get(id)}` : id)
  return messages.map((message): TurnMessage => {
    if (message.role === 'system') return message
    if (message.role === 'user') {
      return {
        role: 'user',
        parts: message.parts.map(part => (part.type === 'tool-result' ? { ...part, id: latest(part.id) } : part)),
      }
    }
    const parts = message.parts.map(part => {
      if (part.type !== 'tool-call') return part
      uses.set(part.id, (uses.get(part.id) ?? 0) + 1)
      return { ...part, id: latest(part.id) }
    })
    return { role: 'assistant', parts }
  })
}

function encodeContent(content: readonly JsonObject[]): JsonObject[] {
  const results = content.filter(({ type }) => type === 'tool_result')
  const others = content.filter(({ type, text }) => type !== 'tool_result' && !(type === 'text' && isBlank(text)))
  const filled = [...results, ...others]
  return filled.length > 0 ? filled : [{ type: 'text', text: PLACEHOLDER }]
}

const isBlank = (text: unknown): boolean => typeof text === 'string' && text.trim() === ''

function encodeMessage(message: TurnMessage): WireMessage {
  switch (message.role) {
    case 'system':
      return encodeReminder(message.text)
    case 'assistant':
      return { role: 'assistant', content: message.parts.map(encodeAssistantPart) }
    case 'user':
      return { role: 'user', content: message.parts.map(encodeUserPart) }
  }
}

export const encodeReminder = (text: string): WireMessage => ({
  role: 'user',
  content: [{ type: 'text', text: `<system-reminder>${text}</system-reminder>` }],
})

function encodeUserPart(part: UserPart): unknown {
  switch (part.type) {
    case 'text':
      return part
    case 'image':
      return { type: 'image', source: imageSource(part.url) }
    case 'tool-result':
      return {
        type: 'tool_result',
        tool_use_id: legalToolId(part.id, TOOL_ID_LENGTH_MAX),
        content: part.text === '' ? undefined : part.text,
        is_error: part.isError || undefined,
      }
  }
}

function imageSource(url: string): unknown {
  const data = /^data:([^;,]+);base64,(.*)$/s.exec(url)
  return data ? { type: 'base64', media_type: data[1], data: data[2] } : { type: 'url', url }
}

function encodeAssistantPart(part: AssistantPart): unknown {
  if (part.type === 'text') return part
  return {
    type: 'tool_use',
    id: legalToolId(part.id, TOOL_ID_LENGTH_MAX),
    name: part.name,
    input: toolInput(part.arguments),
  }
}

/** JSON text as it is; text that is no JSON object is wrapped, so that the turn survives and the model still sees it. */
export function toolInput(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    if (isObject(JSON.parse(text))) return new RawJson(text)
  } catch {}
  return { raw_arguments: text }
}

function encodeTool({ name, description, schema }: Tool): unknown {
  return { name, description, input_schema: { properties: {}, ...schema, type: 'object' } }
}

function encodeToolChoice(choice: ToolChoice | undefined, parallel: boolean): unknown {
  const disable = parallel ? undefined : true
  switch (choice?.type) {
    case undefined:
      return parallel ? undefined : { type: 'auto', disable_parallel_tool_use: true }
    case 'none':
      return { type: 'none' }
    case 'auto':
      return { type: 'auto', disable_parallel_tool_use: disable }
    case 'required':
      return { type: 'any', disable_parallel_tool_use: disable }
    case 'tool':
      return { type: 'tool', name: choice.name, disable_parallel_tool_use: disable }
  }
}
