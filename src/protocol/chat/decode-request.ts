import { type Ask, isObject, type JsonObject } from '../../core/ask.ts'
import { isEffort } from '../../core/effort.ts'
import { invalid } from '../../core/failure.ts'
import type {
  AssistantPart,
  CacheMark,
  ContentPart,
  OutputFormat,
  TextPart,
  Thinking,
  Tool,
  ToolChoice,
  ToolResult,
  Turn,
  TurnMessage,
} from '../../core/turn.ts'
import { asNumber, asText, textOf } from '../fields.ts'
import { rawAt, sourceElements, sourceMember } from '../json.ts'
import { lostMembers } from '../loss.ts'
import { ANY_OBJECT } from '../schema.ts'
import { hasGrammar, textInputSchema, wrapText } from './text-tools.ts'

/** What the vocabulary holds, and what is only a switch of this dialect. */
const CARRIED = new Set(
  `model messages stream stream_options tools tool_choice parallel_tool_calls functions function_call response_format
   reasoning_effort max_tokens max_completion_tokens temperature top_p top_k stop user safety_identifier n
   service_tier`.split(/\s+/),
)

export function decodeRequest(ask: Ask): Turn {
  const { body } = ask
  refuseUnlike(ask)
  const dropped = new Set(lostMembers(body, CARRIED))
  const { system, rest } = splitSystem(body.messages as readonly JsonObject[])
  const tools = decodeTools(ask, dropped)
  return {
    system: system.flatMap(decodeSystem),
    messages: rest.map(({ message, place }) => decodeMessage(message, `messages[${place}]`, dropped)),
    tools,
    toolChoice: decodeToolChoice(body, tools),
    parallelTools: body.parallel_tool_calls !== false && !ask.legacyCalls,
    output: decodeFormat(ask),
    effort: isEffort(body.reasoning_effort) ? body.reasoning_effort : undefined,
    effortField: 'reasoning_effort',
    temperature: asNumber(body.temperature),
    topP: asNumber(body.top_p),
    topK: asNumber(body.top_k),
    stop: [body.stop ?? []].flat() as string[],
    user: asText(body.safety_identifier) ?? asText(body.user),
    serviceTier: decodeServiceTier(body.service_tier, dropped),
    stream: ask.stream,
    dropped: [...dropped],
  }
}

/** What the other dialect cannot do, and what an answer without it would be a lie. */
function refuseUnlike({ body, choices }: Ask): void {
  if (choices > 1) throw invalid('n', 'must be 1 for this model')
  const { modalities } = body
  const isHeard = Array.isArray(modalities) && modalities.includes('audio')
  if (isHeard || isObject(body.audio)) throw invalid(isHeard ? 'modalities' : 'audio', 'must not ask for audio')
}

interface Placed {
  readonly message: JsonObject
  readonly place: number
}

/** The leading run is the system prompt. A conversation may not be empty, so a lone system message is what is asked. */
function splitSystem(messages: readonly JsonObject[]): Record<'system' | 'rest', readonly Placed[]> {
  const placed = messages.map((message, place) => ({ message, place }))
  const leading = placed.findIndex(({ message }) => !isSystem(message))
  if (leading !== -1) return { system: placed.slice(0, leading), rest: placed.slice(leading) }
  const last = placed.at(-1)
  return { system: placed.slice(0, -1), rest: last ? [{ ...last, message: { ...last.message, role: 'user' } }] : [] }
}

const isSystem = ({ role }: JsonObject): boolean => role === 'system' || role === 'developer'

const decodeSystem = ({ message }: Placed): TextPart[] =>
  marked(message, decodeTexts(message)).filter(({ text }) => text.trim() !== '')

/** Here a name says only which tool was called, and the call says that too. */
const RESULT_ROLES: ReadonlySet<unknown> = new Set(['tool', 'function'])

function decodeMessage(message: JsonObject, at: string, dropped: Set<string>): TurnMessage {
  if (message.name && !RESULT_ROLES.has(message.role)) dropped.add('name')
  switch (message.role) {
    case 'system':
    case 'developer':
      if (markOf(message) || decodeTexts(message).some(({ cache }) => cache)) dropped.add('cache_control')
      return { role: 'system', text: joined(decodeTexts(message)) }
    case 'assistant':
      return { role: 'assistant', parts: marked(message, decodeAssistant(message)) }
    case 'tool':
      return { role: 'user', parts: [decodeResult(message.tool_call_id as string, message, { at, dropped })] }
    case 'function':
      return { role: 'user', parts: [decodeResult(legacyCallId(message.name), message, { at, dropped })] }
    default:
      return { role: 'user', parts: marked(message, decodeParts(message, at, dropped)) }
  }
}

// ── parts ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Callers who know the other dialect mark the end of the prompt cache in its words, or in those of this one. */
function markOf({ cache_control: mark, prompt_cache_breakpoint: breakpoint }: JsonObject): CacheMark | undefined {
  if (isObject(mark)) return mark
  return breakpoint ? { type: 'ephemeral' } : undefined
}

/** Some agents mark the whole message: its last part is what they mean. */
function marked<T extends { readonly type: string }>(message: JsonObject, parts: readonly T[]): T[] {
  const cache = markOf(message)
  const last = parts.at(-1)
  return cache && last ? [...parts.slice(0, -1), { ...last, cache }] : [...parts]
}

/** The parts of a message whose content is a string, null, or parts; a string is a part. */
function partsOf({ content }: JsonObject): readonly JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? (content as JsonObject[]) : []
}

/** A refusal is what was said instead of a text. */
const decodeTexts = (message: JsonObject): TextPart[] =>
  partsOf(message).map(part => ({
    type: 'text',
    text: asText(part.text) ?? asText(part.refusal) ?? '',
    cache: markOf(part),
  }))

const joined = (texts: readonly TextPart[]): string => texts.map(({ text }) => text).join('\n')

function decodeParts(message: JsonObject, at: string, dropped: Set<string>): ContentPart[] {
  return partsOf(message).flatMap((part, place): ContentPart[] => {
    const cache = markOf(part)
    switch (part.type) {
      case 'text':
        return [{ type: 'text', text: asText(part.text) ?? '', cache }]
      case 'image_url':
        return [{ type: 'image', url: (part.image_url as { url: string }).url, cache }]
      case 'file':
        return [{ ...decodeFile(part, `${at}.content[${place}]`), cache }]
      case 'input_audio':
        throw invalid(`${at}.content[${place}]`, 'must not be audio for this model')
      default:
        dropped.add(textOf(part.type))
        return []
    }
  })
}

function decodeFile(part: JsonObject, param: string): Extract<ContentPart, { type: 'document' }> {
  const file = isObject(part.file) ? part.file : {}
  const data = asText(file.file_data)
  // Some clients leave out what kind of data it is; nearly all files are of one kind.
  const url = data === undefined || /^\w+:/.test(data) ? data : `data:application/pdf;base64,${data}`
  return { type: 'document', name: asText(file.filename), url, param }
}

function decodeAssistant(message: JsonObject): AssistantPart[] {
  const texts = decodeTexts(message).filter(({ text }) => text !== '')
  const calls = ((message.tool_calls ?? []) as JsonObject[]).flatMap((call): AssistantPart[] => {
    const id = call.id as string
    if (isObject(call.custom)) {
      const { name, input } = call.custom
      return [{ type: 'tool-call', id, name: textOf(name), arguments: wrapText(asText(input) ?? '') }]
    }
    return isObject(call.function) ? [{ type: 'tool-call', id, ...called(call.function) }] : []
  })
  const legacy = message.function_call
  if (isObject(legacy)) calls.push({ type: 'tool-call', id: legacyCallId(legacy.name), ...called(legacy) })
  return [...decodeThinking(message), ...texts, ...calls]
}

const called = (made: JsonObject) => ({ name: textOf(made.name), arguments: textOf(made.arguments) })

/** Calls of the legacy form have no id; the name ties a call to its answer. */
const legacyCallId = (name: unknown): string => `call_${textOf(name)}`

/** Some resellers hand the signature out beside the text, so that it can come back. */
function decodeThinking({ reasoning_details: details, reasoning_content: text }: JsonObject): Thinking[] {
  const signed = (Array.isArray(details) ? details.filter(isObject) : []).flatMap((detail): Thinking[] => {
    const [signature, sealed] = [asText(detail.signature), asText(detail.data)]
    if (sealed !== undefined) return [{ type: 'thinking', text: '', sealed }]
    return signature ? [{ type: 'thinking', text: asText(detail.text) ?? '', signature }] : []
  })
  if (signed.length > 0) return signed
  return typeof text === 'string' && text !== '' ? [{ type: 'thinking', text }] : []
}

interface Place {
  readonly at: string
  readonly dropped: Set<string>
}

/** A mark inside a result counts for the result: neither dialect has it deeper. */
function decodeResult(id: string, message: JsonObject, { at, dropped }: Place): ToolResult {
  const parts = decodeParts(message, at, dropped)
  const cache = markOf(message) ?? parts.findLast(part => part.cache)?.cache
  const bare = parts.map(part => ({ ...part, cache: undefined }))
  return { type: 'tool-result', id, parts: bare, isError: message.is_error === true, cache }
}

// ── tools ───────────────────────────────────────────────────────────────────────────────────────────────────────────

function decodeTools({ body, source }: Ask, dropped: Set<string>): Tool[] {
  if (!body.tools && !body.functions) return []
  const { text } = source
  const spans = body.tools ? sourceElements(source, 'tools') : []
  const tools = ((body.tools ?? []) as JsonObject[]).map((tool, place): Tool => {
    const cache = markOf(tool)
    if (isObject(tool.custom)) {
      if (hasGrammar(tool.custom)) dropped.add('grammar')
      return { ...described(tool.custom), schema: textInputSchema(tool.custom), cache }
    }
    const at = spans[place]?.start ?? 0
    return { ...decodeFunction(tool.function as JsonObject, () => rawAt(text, at, 'function', 'parameters')), cache }
  })
  const legacySpans = body.functions ? sourceElements(source, 'functions') : []
  const legacy = (Array.isArray(body.functions) ? body.functions : []).flatMap((made, place): Tool[] =>
    isObject(made) && typeof made.name === 'string'
      ? [decodeFunction(made, () => rawAt(text, legacySpans[place]?.start ?? 0, 'parameters'))]
      : [],
  )
  const allowed = allowedTools(body)
  return [...tools, ...legacy].filter(({ name }) => !allowed || allowed.names.has(name))
}

const described = ({ name, description, strict }: JsonObject) => ({
  name: textOf(name),
  description: asText(description),
  strict: strict === true,
})

function decodeFunction(made: JsonObject, rawSchema: () => string | undefined): Tool {
  const { parameters } = made
  const schema = isObject(parameters)
    ? { value: parameters, text: rawSchema() ?? JSON.stringify(parameters) }
    : ANY_OBJECT
  return { ...described(made), schema }
}

/** A choice that names several tools: in the other dialect, the rest is simply not offered. */
function allowedTools({ tool_choice: choice }: JsonObject): { mode: unknown; names: Set<unknown> } | undefined {
  if (!isObject(choice) || choice.type !== 'allowed_tools' || !isObject(choice.allowed_tools)) return undefined
  const { mode, tools } = choice.allowed_tools
  const named = Array.isArray(tools) ? tools.filter(isObject) : []
  return { mode, names: new Set(named.map(chosenName)) }
}

/** The tool that a choice of any form names. */
function chosenName({ function: made, custom, name }: JsonObject): unknown {
  if (isObject(made)) return made.name
  return isObject(custom) ? custom.name : name
}

function decodeToolChoice(body: JsonObject, tools: readonly Tool[]): ToolChoice | undefined {
  const allowed = allowedTools(body)
  const choice = allowed ? allowed.mode : (body.tool_choice ?? body.function_call)
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { type: choice }
  const name = isObject(choice) ? chosenName(choice) : undefined
  if (typeof name !== 'string') return undefined
  const param = isObject(body.tool_choice) ? 'tool_choice' : 'function_call'
  if (!tools.some(tool => tool.name === name)) throw invalid(param, 'must name one of the tools')
  return { type: 'tool', name }
}

// ── switches ────────────────────────────────────────────────────────────────────────────────────────────────────────

function decodeFormat({ body, source }: Ask): OutputFormat {
  const format = body.response_format
  if (!isObject(format)) return { type: 'text' }
  if (format.type === 'json_object') return { type: 'json' }
  if (format.type !== 'json_schema' || !isObject(format.json_schema)) return { type: 'text' }
  const { name, schema } = format.json_schema
  if (!isObject(schema)) return { type: 'json' }
  const at = sourceMember(source, 'response_format')?.start ?? 0
  const raw = rawAt(source.text, at, 'json_schema', 'schema') ?? JSON.stringify(schema)
  return { type: 'schema', name: asText(name) ?? 'output', schema: { value: schema, text: raw } }
}

/** The dearer and the slower tiers of this dialect have no like in the other. */
function decodeServiceTier(value: unknown, dropped: Set<string>): Turn['serviceTier'] {
  if (value === 'auto') return 'auto'
  if (value === 'default') return 'standard'
  if (value !== undefined && value !== null) dropped.add('service_tier')
  return undefined
}
