import { type Ask, isObject, type JsonObject } from '../../core/ask.ts'
import { type Effort, isEffort } from '../../core/effort.ts'
import type { Span } from '../../core/source.ts'
import type {
  AssistantPart,
  CacheMark,
  ContentPart,
  OutputFormat,
  TextPart,
  Tool,
  ToolChoice,
  ToolResult,
  Turn,
  TurnMessage,
  UserPart,
} from '../../core/turn.ts'
import { asNumber, asText, textOf } from '../fields.ts'
import { elements, member, rawAt, sourceElements, sourceMember } from '../json.ts'
import { lostMembers } from '../loss.ts'
import { clientTool } from './client-tools.ts'
import { blocksOf, blockText, systemText } from './content.ts'

/** What the vocabulary holds, and what is only a switch of this dialect. */
const CARRIED = new Set(
  `model messages system max_tokens stream tools tool_choice thinking output_config metadata
   temperature top_p top_k stop_sequences service_tier`.split(/\s+/),
)

/** Changes with every version of one agent; forwarding it would spoil the upstream's prompt cache. */
const BILLING_BLOCK = 'x-anthropic-billing-header:'

export function decodeRequest(ask: Ask): Turn {
  const { body } = ask
  const dropped = new Set(lostMembers(body, CARRIED))
  const choice = isObject(body.tool_choice) ? body.tool_choice : {}
  return {
    system: decodeSystem(body.system),
    messages: decodeMessages(ask, dropped),
    tools: decodeTools(ask, dropped),
    toolChoice: decodeToolChoice(choice),
    parallelTools: choice.disable_parallel_tool_use !== true,
    output: decodeFormat(ask),
    effort: decodeEffort(body),
    effortField: isObject(body.thinking) ? 'thinking' : 'effort',
    temperature: asNumber(body.temperature),
    topP: asNumber(body.top_p),
    topK: asNumber(body.top_k),
    stop: (body.stop_sequences ?? []) as string[],
    user: isObject(body.metadata) ? asText(body.metadata.user_id) : undefined,
    serviceTier: decodeServiceTier(body.service_tier, dropped),
    stream: ask.stream,
    dropped: [...dropped],
  }
}

function decodeSystem(system: unknown): TextPart[] {
  const blocks = typeof system === 'string' ? [{ text: system }] : ((system ?? []) as JsonObject[])
  return blocks.flatMap((block: JsonObject): TextPart[] => {
    const text = asText(block.text) ?? ''
    return text === '' || text.startsWith(BILLING_BLOCK) ? [] : [{ type: 'text', text, cache: markOf(block) }]
  })
}

function decodeMessages({ body, source }: Ask, dropped: Set<string>): TurnMessage[] {
  const { text } = source
  /** Looked for where somebody has called a tool: for nothing else does the text matter. */
  let spans: Span[] | undefined
  return (body.messages as JsonObject[]).map((message, place): TurnMessage => {
    if (message.role === 'system') {
      if (blocksOf(message).some(markOf)) dropped.add('cache_control')
      return { role: 'system', text: systemText(message) }
    }
    if (message.role === 'user') return { role: 'user', parts: decodeUser(message, `messages[${place}]`, dropped) }
    const inputs = () => {
      spans ??= sourceElements(source, 'messages')
      return rawInputs(text, spans[place]?.start ?? 0)
    }
    return { role: 'assistant', parts: decodeAssistant(message, inputs, dropped) }
  })
}

// ── blocks ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const markOf = ({ cache_control: mark }: JsonObject): CacheMark | undefined => (isObject(mark) ? mark : undefined)

/** The inputs of a message's tool calls as they were written: digits and the order of keys survive. */
function rawInputs(text: string, at: number): (string | undefined)[] {
  const content = member(text, at, 'content')
  return content ? elements(text, content.start).map(({ start }) => rawAt(text, start, 'input')) : []
}

function decodeUser(message: JsonObject, at: string, dropped: Set<string>): UserPart[] {
  return blocksOf(message).flatMap((block, place): UserPart[] => {
    const param = `${at}.content[${place}]`
    return block.type === 'tool_result' ? [decodeResult(block, param, dropped)] : decodeContent(block, param, dropped)
  })
}

function decodeContent(block: JsonObject, param: string, dropped: Set<string>): ContentPart[] {
  const cache = markOf(block)
  if (block.type === 'image') {
    const url = sourceUrl(block.source as JsonObject)
    if (url !== undefined) return [{ type: 'image', url, cache }]
    dropped.add('image')
    return []
  }
  const text = blockText(block)
  if (text !== '') return [{ type: 'text', text, cache }]
  if (block.type === 'document') {
    const url = isObject(block.source) ? sourceUrl(block.source) : undefined
    return [{ type: 'document', name: asText(block.title), url, param, cache }]
  }
  if (block.type !== 'text') dropped.add(textOf(block.type))
  return []
}

function sourceUrl({ type, media_type, data, url }: JsonObject): string | undefined {
  return type === 'base64' ? `data:${textOf(media_type)};base64,${textOf(data)}` : asText(url)
}

function decodeResult(block: JsonObject, param: string, dropped: Set<string>): ToolResult {
  return {
    type: 'tool-result',
    id: block.tool_use_id as string,
    parts: blocksOf(block).flatMap((part, place) => decodeContent(part, `${param}.content[${place}]`, dropped)),
    isError: block.is_error === true,
    cache: markOf(block),
  }
}

function decodeAssistant(
  message: JsonObject,
  inputs: () => (string | undefined)[],
  dropped: Set<string>,
): AssistantPart[] {
  const blocks = blocksOf(message)
  const raw = blocks.some(({ type }) => type === 'tool_use') ? inputs() : []
  return blocks.flatMap((block, place): AssistantPart[] => {
    const cache = markOf(block)
    switch (block.type) {
      case 'tool_use': {
        const { id, name } = block as { id: string; name: string }
        const made = isObject(block.input) ? raw[place] : undefined
        return [{ type: 'tool-call', id, name, arguments: made ?? '{}', cache }]
      }
      case 'text': {
        const text = blockText(block)
        return text === '' ? [] : [{ type: 'text', text, cache }]
      }
      case 'thinking':
        return [{ type: 'thinking', text: asText(block.thinking) ?? '', signature: asText(block.signature) }]
      case 'redacted_thinking':
        return [{ type: 'thinking', text: '', sealed: asText(block.data) }]
      default:
        dropped.add(textOf(block.type))
        return []
    }
  })
}

// ── tools ───────────────────────────────────────────────────────────────────────────────────────────────────────────

function decodeTools({ body, source }: Ask, dropped: Set<string>): Tool[] {
  const tools = (body.tools ?? []) as JsonObject[]
  if (tools.length === 0) return []
  const { text } = source
  const spans = sourceElements(source, 'tools')
  const isLoaded = loadedTools(body)
  return tools.flatMap((tool, place): Tool[] => {
    if (tool.defer_loading === true && !isLoaded(tool)) return []
    const { type, name, description, input_schema: schema, strict } = tool
    const raw = () => rawAt(text, spans[place]?.start ?? 0, 'input_schema') ?? JSON.stringify(schema)
    const described = { name: textOf(name), description: asText(description), strict: strict === true }
    if (isObject(schema) && described.name !== '')
      return [{ ...described, schema: { value: schema, text: raw() }, cache: markOf(tool) }]
    const known = clientTool(tool)
    if (known) return [known]
    // A tool that only the dialect's own vendor can run would be refused by any other.
    dropped.add(textOf(type))
    return []
  })
}

/**
 * Deferred tools are those that an agent loads on demand, by a reference in a tool's result: other upstreams get those
 * that were loaded. Where the vendor was to search for them itself, nobody does, and all of them are offered.
 */
function loadedTools(body: JsonObject): (tool: JsonObject) => boolean {
  const tools = (body.tools ?? []) as JsonObject[]
  if (tools.some(({ type }) => typeof type === 'string' && type.startsWith('tool_search_'))) return () => true
  const blocks = (body.messages as JsonObject[]).flatMap(blocksOf)
  const references = blocks.filter(({ type }) => type === 'tool_result').flatMap(blocksOf)
  const loaded = new Set([
    ...references.flatMap(({ type, tool_name: name }) => (type === 'tool_reference' ? [name] : [])),
    // Of a conversation that was cut, the reference may be gone.
    ...blocks.flatMap(({ type, name }) => (type === 'tool_use' ? [name] : [])),
  ])
  return ({ name }) => loaded.has(name)
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

// ── switches ────────────────────────────────────────────────────────────────────────────────────────────────────────

function decodeFormat({ body, source }: Ask): OutputFormat {
  const config = body.output_config
  const format = isObject(config) && isObject(config.format) ? config.format : {}
  if (!isObject(format.schema)) return { type: 'text' }
  const at = sourceMember(source, 'output_config')?.start ?? 0
  const raw = rawAt(source.text, at, 'format', 'schema') ?? JSON.stringify(format.schema)
  return { type: 'schema', name: 'output', schema: { value: format.schema, text: raw } }
}

/** A word on effort holds, whatever `thinking` says: the two are independent. */
function decodeEffort({ thinking, output_config: config }: JsonObject): Effort | undefined {
  const asked = isObject(config) ? config.effort : undefined
  if (isEffort(asked)) return asked
  if (!isObject(thinking)) return undefined
  if (thinking.type === 'disabled') return 'none'
  if (thinking.type !== 'enabled' || typeof thinking.budget_tokens !== 'number') return undefined
  return thinking.budget_tokens < 2048 ? 'low' : thinking.budget_tokens < 8192 ? 'medium' : 'high'
}

function decodeServiceTier(value: unknown, dropped: Set<string>): Turn['serviceTier'] {
  if (value === 'auto') return 'auto'
  if (value === 'standard_only') return 'standard'
  if (value !== undefined && value !== null) dropped.add('service_tier')
  return undefined
}
