import type {
  AssistantPart,
  ContentPart,
  Effort,
  TextPart,
  Tool,
  ToolChoice,
  ToolResult,
  Turn,
  TurnMessage,
  UserPart,
} from '../../core/turn.ts'
import { arrangeHistory } from '../history.ts'
import { IMAGE_OMITTED } from '../images.ts'
import { rawJson, stringify } from '../json.ts'
import { jsonSentence } from '../json-mode.ts'
import { legalName, legalUserId, NameBook } from '../names.ts'
import type { Emulation, EncodedRequest, Target } from '../protocol.ts'
import { reminder } from '../reminder.ts'
import { inputSchema } from '../schema.ts'

/** Longer ones are refused by the dialect's own vendor. */
const TOOL_ID_LENGTH_MAX = 40
const TOOL_NAME_LENGTH_MAX = 64
const STOPS_MAX = 4

export function encodeRequest(turn: Turn, target: Target): EncodedRequest {
  const { capabilities: can } = target
  const names = new NameBook(TOOL_NAME_LENGTH_MAX)
  const history = arrangeHistory(turn.messages, {
    repair: can.repair,
    legalId: id => legalName(id, TOOL_ID_LENGTH_MAX),
  })
  const writer = new MessageWriter(target, names)
  const { format, sentence, emulation } = encodeFormat(turn, target)
  const system: readonly TextPart[] = sentence ? [...turn.system, { type: 'text', text: sentence }] : turn.system
  const tools = can.tools ? turn.tools : []
  const hasTools = tools.length > 0
  const effort = target.reasoning ? nearestEffort(turn.effort, can.efforts) : undefined
  const body = {
    model: target.model,
    messages: [...writer.system(system), ...writer.messages(history)],
    tools: hasTools ? tools.map(tool => encodeTool(tool, names, can.strictTools)) : undefined,
    tool_choice: hasTools && turn.toolChoice ? encodeToolChoice(turn.toolChoice, tools, names) : undefined,
    parallel_tool_calls: hasTools && can.parallelTools && !turn.parallelTools ? false : undefined,
    response_format: format,
    reasoning_effort: effort,
    [can.maxTokensField]: target.maxTokens && Math.min(target.maxTokens, target.maxOutputTokens),
    ...encodeSampling(turn, target),
    stop: turn.stop.length > 0 ? turn.stop.slice(0, STOPS_MAX) : undefined,
    ...(turn.user && can.userField !== 'none' ? { [can.userField]: legalUserId(turn.user) } : {}),
    service_tier: can.serviceTier && turn.serviceTier ? SERVICE_TIERS[turn.serviceTier] : undefined,
    stream: turn.stream,
    stream_options: turn.stream && can.streamUsage ? { include_usage: true } : undefined,
  }
  return {
    body: stringify(body),
    dropped: [...writer.dropped, ...lost(turn, target, body)],
    renamed: names.renamed,
    emulation,
  }
}

/** What this upstream cannot be given although the vocabulary holds it. */
function lost(turn: Turn, { capabilities: can }: Target, body: Readonly<Record<string, unknown>>): string[] {
  const hasTools = turn.tools.length > 0
  const hasEffort = turn.effort !== undefined && turn.effort !== 'none'
  return Object.entries({
    stop_sequences: turn.stop.length > STOPS_MAX,
    temperature: turn.temperature !== undefined && body.temperature === undefined,
    top_p: turn.topP !== undefined && body.top_p === undefined,
    top_k: turn.topK !== undefined && body.top_k === undefined,
    [turn.effortField]: hasEffort && body.reasoning_effort === undefined,
    tools: hasTools && !can.tools,
    strict: turn.tools.some(({ strict }) => strict) && !can.strictTools,
    disable_parallel_tool_use: hasTools && !turn.parallelTools && !can.parallelTools,
    service_tier: turn.serviceTier !== undefined && body.service_tier === undefined,
    metadata: turn.user !== undefined && can.userField === 'none',
    cache_control: turn.tools.some(({ cache }) => cache),
  }).flatMap(([name, isLost]) => (isLost ? [name] : []))
}

const SERVICE_TIERS = { auto: 'auto', standard: 'default' } as const

function encodeSampling({ temperature, topP, topK }: Turn, { capabilities: can }: Target) {
  if (!can.sampling) return {}
  const isEither = can.temperatureXorTopP && temperature !== undefined
  return {
    temperature: temperature && Math.min(temperature, can.temperatureMax),
    top_p: isEither ? undefined : topP,
    top_k: can.topK ? topK : undefined,
  }
}

const EFFORT_ORDER: readonly Effort[] = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** The word itself, or the strongest that is no stronger, or the weakest there is. */
function nearestEffort(effort: Effort | undefined, known: readonly Effort[]): Effort | undefined {
  if (effort === undefined || known.includes(effort)) return effort
  if (effort === 'none') return undefined
  const ordered = EFFORT_ORDER.filter(word => known.includes(word))
  return ordered.findLast(word => EFFORT_ORDER.indexOf(word) < EFFORT_ORDER.indexOf(effort)) ?? ordered[0]
}

// ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────────

class MessageWriter {
  readonly dropped = new Set<string>()
  private readonly target: Target
  private readonly names: NameBook

  constructor(target: Target, names: NameBook) {
    this.target = target
    this.names = names
  }

  system(texts: readonly TextPart[]): unknown[] {
    return texts.length > 0 ? [{ role: 'system', content: this.content(texts) }] : []
  }

  /** A message with nothing in it is left out, unless two turns of the user would run together without it. */
  messages(history: readonly TurnMessage[]): unknown[] {
    const written = history.map(message => ({ role: message.role, wire: this.message(message) }))
    const isSaid = ({ wire }: (typeof written)[number]) => wire.length > 0
    const kept = written.flatMap(({ role, wire }, place) => {
      if (wire.length > 0 || role !== 'assistant') return wire
      const isBetween = written.slice(0, place).findLast(isSaid)?.role === 'user' && written[place + 1]?.role === 'user'
      return isBetween ? [{ role: 'assistant', content: '' }] : []
    })
    return kept.length > 0 ? kept : [{ role: 'user', content: '' }]
  }

  private message(message: TurnMessage): unknown[] {
    switch (message.role) {
      case 'system':
        if (this.target.capabilities.midSystem) return [{ role: 'system', content: message.text }]
        return [{ role: 'user', content: reminder(message.text) }]
      case 'assistant':
        return this.assistant(message.parts)
      case 'user':
        return this.user(message.parts)
    }
  }

  private user(parts: readonly UserPart[]): unknown[] {
    const results = parts.filter(part => part.type === 'tool-result')
    const said = parts
      .filter(part => part.type !== 'tool-result')
      .filter(part => part.type !== 'text' || part.text !== '')
    const shown = results.flatMap(result => this.shownImages(result))
    const wire = results.map(result => this.result(result))
    const last = [...shown, ...said]
    return last.length > 0 ? [...wire, { role: 'user', content: this.content(last) }] : wire
  }

  private result({ id, parts, isError, cache }: ToolResult): unknown {
    if (cache) this.dropped.add('cache_control')
    if (this.target.capabilities.contentArrayInTool && parts.length > 1) {
      return { role: 'tool', tool_call_id: id, content: parts.map(part => this.part(part)) }
    }
    const text = parts
      .map(part => this.plainText(part))
      .filter(Boolean)
      .join('\n')
    return { role: 'tool', tool_call_id: id, content: isError && !text.startsWith('Error') ? `Error: ${text}` : text }
  }

  /** A result is text in this dialect, so its images come behind the last result, with a word on whose they are. */
  private shownImages({ id, parts }: ToolResult): ContentPart[] {
    const images = parts.filter(({ type }) => type === 'image')
    if (images.length === 0 || this.target.capabilities.contentArrayInTool) return []
    return [{ type: 'text', text: `[Images returned by tool call ${id}]` }, ...images]
  }

  private plainText(part: ContentPart): string {
    switch (part.type) {
      case 'text':
        return part.text
      case 'image':
        return IMAGE_OMITTED
      case 'document':
        return this.omittedDocument(part.name)
    }
  }

  private omittedDocument(name: string | undefined): string {
    this.dropped.add('document')
    return name ? `[document omitted: ${name}]` : '[document omitted]'
  }

  /** A plain string wherever possible: several servers of this dialect refuse arrays. */
  private content(parts: readonly ContentPart[]): unknown {
    const { cacheControl, partsArray, documents } = this.target.capabilities
    const hasMarks = parts.some(({ cache }) => cache)
    if (hasMarks && !cacheControl) this.dropped.add('cache_control')
    const isPlain = parts.every(({ type }) => type === 'text' || (type === 'document' && !documents))
    const asArray = !isPlain || (hasMarks && cacheControl) || (partsArray && parts.length > 1)
    return asArray ? parts.map(part => this.part(part)) : parts.map(part => this.plainText(part)).join('\n\n')
  }

  private part(part: ContentPart): unknown {
    const { cacheControl, documents } = this.target.capabilities
    const cache_control = cacheControl ? part.cache : undefined
    if (part.type === 'image') return { type: 'image_url', image_url: { url: part.url }, cache_control }
    if (part.type === 'document' && documents && part.url !== undefined) {
      const filename = part.name ?? 'document.pdf'
      return { type: 'file', file: { filename, file_data: part.url }, cache_control }
    }
    return { type: 'text', text: this.plainText(part), cache_control }
  }

  private assistant(parts: readonly AssistantPart[]): unknown[] {
    const thoughts = parts.filter(part => part.type === 'thinking')
    const isReplayed = this.target.capabilities.reasoningReplay
    if (thoughts.some(({ text }) => text === '' || !isReplayed)) this.dropped.add('thinking')
    const text = parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('')
    if (parts.some(part => part.type !== 'thinking' && part.cache)) this.dropped.add('cache_control')
    const calls = parts.flatMap(part => (part.type === 'tool-call' ? [this.call(part)] : []))
    if (text === '' && calls.length === 0) return []
    const reasoning = isReplayed ? thoughts.map(thought => thought.text).join('') : ''
    return [
      {
        role: 'assistant',
        content: text || (calls.length > 0 ? null : ''),
        reasoning_content: reasoning || undefined,
        tool_calls: calls.length > 0 ? calls : undefined,
      },
    ]
  }

  private call({ id, name, arguments: made }: Extract<AssistantPart, { type: 'tool-call' }>): unknown {
    return { id, type: 'function', function: { name: this.names.legal(name), arguments: made || '{}' } }
  }
}

// ── tools and output ────────────────────────────────────────────────────────────────────────────────────────────────

function encodeTool({ name, description, schema, strict }: Tool, names: NameBook, strictTools: boolean): unknown {
  const made = { name: names.legal(name), description, parameters: inputSchema(schema) }
  return { type: 'function', function: strict && strictTools ? { ...made, strict } : made }
}

/** A choice of a tool that could not be offered is no choice. */
function encodeToolChoice(choice: ToolChoice, tools: readonly Tool[], names: NameBook): unknown {
  if (choice.type !== 'tool') return choice.type
  if (!tools.some(({ name }) => name === choice.name)) return undefined
  return { type: 'function', function: { name: names.legal(choice.name) } }
}

interface Format {
  readonly format?: unknown
  /** For upstreams that must be told in words. */
  readonly sentence?: string
  readonly emulation: Emulation | undefined
}

function encodeFormat({ output }: Turn, { capabilities: can }: Target): Format {
  if (output.type === 'text') return { emulation: undefined }
  if (output.type === 'schema' && can.structuredOutput) {
    const { name, schema } = output
    const described = { name: legalName(name, TOOL_NAME_LENGTH_MAX), schema: rawJson(schema.text) }
    return { format: { type: 'json_schema', json_schema: described }, emulation: undefined }
  }
  const format = can.jsonObject ? { type: 'json_object' } : undefined
  return { format, sentence: jsonSentence(output), emulation: { type: 'text' } }
}
