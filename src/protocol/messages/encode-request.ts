import { invalid } from '../../core/failure.ts'
import type {
  AssistantPart,
  CacheMark,
  ContentPart,
  TextPart,
  Tool,
  ToolChoice,
  ToolResult,
  Turn,
  TurnMessage,
  UserPart,
} from '../../core/turn.ts'
import { arrangeHistory } from '../history.ts'
import { stringify } from '../json.ts'
import { jsonSentence } from '../json-mode.ts'
import { legalName, legalUserId, NameBook } from '../names.ts'
import type { Emulation, EncodedRequest, Target } from '../protocol.ts'
import { reminder } from '../reminder.ts'
import { ANY_OBJECT, inputSchema, schemaOf } from '../schema.ts'
import { dataSource, mediaSource } from './media.ts'
import { sanitizeSchema } from './schema.ts'
import { encodeThinking } from './thinking.ts'
import { toolInput } from './tool-input.ts'

const TOOL_NAME_LENGTH_MAX = 128
/** Ids may be of any length here; only their letters are checked. */
const legalId = (id: string): string => legalName(id, Number.POSITIVE_INFINITY)
/** Neither an empty message nor an empty text is legal in this dialect. */
export const PLACEHOLDER = '.'
const CONTINUE = 'Continue.'
/** More marks than this are refused; the latest are worth the most. */
const CACHE_MARKS_MAX = 4

export function encodeRequest(turn: Turn, target: Target): EncodedRequest {
  const { capabilities: can } = target
  const names = new NameBook(TOOL_NAME_LENGTH_MAX)
  const history = arrangeHistory(turn.messages, { repair: can.repair, legalId })
  const maxTokens = Math.min(target.maxTokens ?? target.maxOutputTokens, target.maxOutputTokens)
  const plan = planOutput(turn, target)
  const { thinking, effort } = encodeThinking({ turn, target, maxTokens, history, toolChoice: plan.toolChoice })
  const thinks = thinking !== undefined && thinking.type !== 'disabled'
  const writer = new MessageWriter(target, names, thinks)
  const tools = offeredTools(plan, history, can.tools)
  const stops = turn.stop.filter(stop => stop.trim() !== '')
  const config = { effort, format: plan.format }
  const body = {
    model: target.model,
    max_tokens: maxTokens,
    tools: tools.length > 0 ? tools.map(tool => encodeTool(tool, names, can.strictTools)) : undefined,
    tool_choice: tools.length > 0 ? encodeToolChoice(plan, turn.parallelTools || !can.parallelTools, names) : undefined,
    system: encodeSystem(plan.sentence ? [...turn.system, { type: 'text', text: plan.sentence }] : turn.system),
    messages: writer.messages(history),
    thinking,
    output_config: effort || plan.format ? config : undefined,
    ...(thinks || !can.sampling ? {} : encodeSampling(turn, target)),
    stop_sequences: stops.length > 0 ? stops : undefined,
    metadata: turn.user && can.userField !== 'none' ? { user_id: legalUserId(turn.user) } : undefined,
    service_tier: can.serviceTier && turn.serviceTier ? SERVICE_TIERS[turn.serviceTier] : undefined,
    stream: turn.stream,
  }
  const lostMarks = limitMarks(body, can.cacheControl ? CACHE_MARKS_MAX : 0)
  const dropped = [...writer.dropped, ...lost(turn, target, body), ...(lostMarks ? ['cache_control'] : [])]
  return { body: stringify(body), dropped, renamed: names.renamed, emulation: plan.emulation }
}

/** What this upstream cannot be given although the vocabulary holds it. */
function lost(turn: Turn, { capabilities: can }: Target, body: Readonly<Record<string, unknown>>): string[] {
  const hasTools = turn.tools.length > 0
  const hasEffort = turn.effort !== undefined && turn.effort !== 'none'
  return Object.entries({
    stop: turn.stop.some(stop => stop.trim() === ''),
    temperature: turn.temperature !== undefined && body.temperature === undefined,
    top_p: turn.topP !== undefined && body.top_p === undefined,
    top_k: turn.topK !== undefined && body.top_k === undefined,
    [turn.effortField]: hasEffort && body.thinking === undefined,
    tools: hasTools && !can.tools,
    strict: turn.tools.some(({ strict }) => strict) && !can.strictTools,
    parallel_tool_calls: hasTools && !turn.parallelTools && !can.parallelTools,
    service_tier: turn.serviceTier !== undefined && body.service_tier === undefined,
    user: turn.user !== undefined && can.userField === 'none',
  }).flatMap(([name, isLost]) => (isLost ? [name] : []))
}

const SERVICE_TIERS = { auto: 'auto', standard: 'standard_only' } as const

/** Values above 1 are legal in the other dialect; most servers of this one refuse two of these together. */
function encodeSampling({ temperature, topP, topK }: Turn, { capabilities: can }: Target) {
  return {
    temperature: temperature && Math.min(temperature, can.temperatureMax),
    top_p: can.temperatureXorTopP && temperature !== undefined ? undefined : topP,
    top_k: can.topK ? topK : undefined,
  }
}

/** One string, unless the place of a mark must be kept. */
function encodeSystem(texts: readonly TextPart[]): unknown {
  if (texts.length === 0) return undefined
  if (!texts.some(({ cache }) => cache)) return texts.map(({ text }) => text).join('\n')
  return texts.map(({ text, cache }) => ({ type: 'text', text, ...mark(cache) }))
}

const mark = (cache: CacheMark | undefined) => (cache ? { cache_control: cache } : {})

/** Takes the earliest marks out until few enough are left; says whether there were more. */
function limitMarks({ tools, system, messages }: Record<string, unknown>, most: number): boolean {
  const blocks = [tools, system, messages].flatMap(list => (Array.isArray(list) ? (list as Marked[]) : []))
  const marked = blocks
    .flatMap(block => (Array.isArray(block.content) ? (block.content as Marked[]) : [block]))
    .filter(block => block.cache_control)
  for (const block of marked.slice(0, Math.max(0, marked.length - most))) delete block.cache_control
  return marked.length > most
}

interface Marked {
  cache_control?: unknown
  readonly content?: unknown
}

// ── output ──────────────────────────────────────────────────────────────────────────────────────────────────────────

interface OutputPlan {
  readonly tools: readonly Tool[]
  readonly toolChoice: ToolChoice | undefined
  readonly format?: unknown
  readonly sentence?: string
  readonly emulation: Emulation | undefined
}

const OUTPUT_TOOL = 'structured_output'

/** The dialect has no plain JSON mode: a tool that must be called has a JSON input, or the model is asked in words. */
function planOutput(turn: Turn, target: Target): OutputPlan {
  const { tools, toolChoice, output } = turn
  const plain: OutputPlan = { tools, toolChoice, emulation: undefined }
  if (output.type === 'text' || toolChoice?.type === 'tool') return plain
  if (output.type === 'schema' && target.capabilities.structuredOutput) {
    return { ...plain, format: { type: 'json_schema', schema: sanitizeSchema(output.schema) } }
  }
  const others = toolChoice?.type === 'none' ? [] : tools
  const wantsThought = target.reasoning && turn.effort !== undefined && turn.effort !== 'none'
  const isAsked = !target.capabilities.tools || (output.type === 'json' && (others.length > 0 || wantsThought))
  if (isAsked) return { ...plain, sentence: jsonSentence(output), emulation: { type: 'text' } }
  const schema = output.type === 'schema' ? output.schema : schemaOf({ type: 'object', additionalProperties: true })
  const name = unusedName(OUTPUT_TOOL, tools)
  const json = { name, description: 'Gives the answer as a JSON object.', schema, strict: false }
  return {
    tools: [json, ...others],
    toolChoice: others.length > 0 ? { type: 'required' } : { type: 'tool', name },
    emulation: { type: 'tool', name },
  }
}

/** A caller may have a tool of that name. */
const unusedName = (name: string, tools: readonly Tool[]): string =>
  tools.some(tool => tool.name === name) ? unusedName(`${name}_`, tools) : name

/** Servers want the tools of a history declared even where none may be called any more. */
function offeredTools(
  { tools, emulation }: OutputPlan,
  history: readonly TurnMessage[],
  isAble: boolean,
): readonly Tool[] {
  if (!isAble) return []
  if (tools.length > 0 && emulation?.type !== 'tool') return tools
  const offered = new Set(tools.map(({ name }) => name))
  const used = history.flatMap(message => (message.role === 'assistant' ? message.parts : []))
  const missing = new Set(
    used.flatMap(part => (part.type === 'tool-call' && !offered.has(part.name) ? [part.name] : [])),
  )
  return [...tools, ...[...missing].map(name => ({ name, description: undefined, schema: ANY_OBJECT, strict: false }))]
}

function encodeTool(
  { name, description, schema, strict, cache }: Tool,
  names: NameBook,
  strictTools: boolean,
): unknown {
  const made = { name: names.legal(name), description, input_schema: inputSchema(schema), ...mark(cache) }
  return strict && strictTools ? { ...made, strict } : made
}

function encodeToolChoice({ tools, toolChoice: choice }: OutputPlan, parallel: boolean, names: NameBook): unknown {
  // The caller offered nothing; what is declared for the sake of the history must not be called.
  if (tools.length === 0) return { type: 'none' }
  const single = parallel ? {} : { disable_parallel_tool_use: true }
  switch (choice?.type) {
    case undefined:
      return parallel ? undefined : { type: 'auto', ...single }
    case 'none':
      return { type: 'none' }
    case 'auto':
      return { type: 'auto', ...single }
    case 'required':
      return { type: 'any', ...single }
    case 'tool':
      return { type: 'tool', name: names.legal(choice.name), ...single }
  }
}

// ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────────

type Block = Readonly<Record<string, unknown>>

interface WireMessage {
  readonly role: 'user' | 'assistant' | 'system'
  readonly content: string | Block[]
}

class MessageWriter {
  readonly dropped = new Set<string>()
  private readonly target: Target
  private readonly names: NameBook
  private readonly thinks: boolean

  constructor(target: Target, names: NameBook, thinks: boolean) {
    this.target = target
    this.names = names
    this.thinks = thinks
  }

  /** Roles must alternate, a user begins and ends, nothing is empty: chat promises none of this. */
  messages(history: readonly TurnMessage[]): WireMessage[] {
    const merged: WireMessage[] = []
    const after = rolesAfter(history)
    history.forEach((message, place) => {
      const last = merged.at(-1)
      const wire = this.message(message, { before: last?.role, after: after[place] })
      if (last?.role !== wire.role) merged.push(wire)
      else merged[merged.length - 1] = { role: wire.role, content: joined(last.content, wire.content) }
    })
    if (merged[0]?.role !== 'user') merged.unshift({ role: 'user', content: [] })
    return this.ended(merged).map(({ role, content }) => ({ role, content: plain(role, filled(content)) }))
  }

  private message(
    message: TurnMessage,
    around: { before: string | undefined; after: string | undefined },
  ): WireMessage {
    switch (message.role) {
      case 'system': {
        const isLegal = around.before !== 'assistant' && around.before !== undefined && around.after !== 'user'
        if (isLegal && this.target.capabilities.midSystem) return { role: 'system', content: message.text }
        return { role: 'user', content: [{ type: 'text', text: reminder(message.text) }] }
      }
      case 'assistant':
        return { role: 'assistant', content: message.parts.flatMap(part => this.assistantPart(part)) }
      case 'user':
        return { role: 'user', content: message.parts.map(part => this.userPart(part)) }
    }
  }

  /** A model that cannot go on with the assistant's words is asked to. */
  private ended(messages: readonly WireMessage[]): readonly WireMessage[] {
    const last = messages.at(-1)
    if (last?.role !== 'assistant') return messages
    if ((last.content as Block[]).every(isBlank)) return messages.slice(0, -1)
    if (!this.target.capabilities.prefill || this.thinks) {
      return [...messages, { role: 'user', content: [{ type: 'text', text: CONTINUE }] }]
    }
    const content = last.content as Block[]
    const text = content.at(-1)
    if (typeof text?.text !== 'string') return messages
    return [
      ...messages.slice(0, -1),
      { ...last, content: [...content.slice(0, -1), { ...text, text: text.text.trimEnd() }] },
    ]
  }

  private userPart(part: UserPart): Block {
    return part.type === 'tool-result' ? this.result(part) : this.content(part)
  }

  private content(part: ContentPart): Block {
    switch (part.type) {
      case 'text':
        return { type: 'text', text: part.text, ...mark(part.cache) }
      case 'image':
        return { type: 'image', source: mediaSource(part.url), ...mark(part.cache) }
      case 'document': {
        const source = dataSource(part.url)
        if (!this.target.capabilities.documents || !source)
          throw invalid(part.param, 'must not be a file for this model')
        return { type: 'document', source, ...(part.name ? { title: part.name } : {}), ...mark(part.cache) }
      }
    }
  }

  private result({ id, parts, isError, cache }: ToolResult): Block {
    const said = parts.filter(part => part.type !== 'text' || part.text.trim() !== '')
    const [only] = said
    const content = said.length === 1 && only?.type === 'text' ? only.text : said.map(part => this.content(part))
    return {
      type: 'tool_result',
      tool_use_id: id,
      ...(said.length > 0 ? { content } : {}),
      ...(isError ? { is_error: true } : {}),
      ...mark(cache),
    }
  }

  private assistantPart(part: AssistantPart): Block[] {
    switch (part.type) {
      case 'text':
        return [{ type: 'text', text: part.text, ...mark(part.cache) }]
      case 'thinking':
        return this.thought(part)
      case 'tool-call': {
        const { id, name, cache } = part
        const input = toolInput(part.arguments)
        return [{ type: 'tool_use', id, name: this.names.legal(name), input, ...mark(cache) }]
      }
    }
  }

  /** Only the vendor that made a thought can take it back: its signature is checked. */
  private thought({ text, signature, sealed }: Extract<AssistantPart, { type: 'thinking' }>): Block[] {
    if (sealed !== undefined) return [{ type: 'redacted_thinking', data: sealed }]
    if (signature) return [{ type: 'thinking', thinking: text, signature }]
    this.dropped.add('reasoning_content')
    return []
  }
}

/** Who speaks next after each message, words of the system aside. */
function rolesAfter(history: readonly TurnMessage[]): (string | undefined)[] {
  const after: (string | undefined)[] = []
  let next: string | undefined
  for (let place = history.length - 1; place >= 0; place--) {
    after[place] = next
    if (history[place]?.role !== 'system') next = history[place]?.role
  }
  return after
}

function joined(first: WireMessage['content'], second: WireMessage['content']): WireMessage['content'] {
  if (typeof first === 'string' || typeof second === 'string') return `${first}\n${second}`
  // The first is ours alone by now; copying it again for each of many messages would take the square of their number.
  first.push(...second)
  return first
}

const isBlank = ({ type, text }: Block): boolean => type === 'text' && typeof text === 'string' && text.trim() === ''

/** What the assistant says in one piece is a string, as everybody writes it. */
function plain(role: string, content: string | Block[]): string | Block[] {
  const [only, ...others] = content
  const isPlain = role === 'assistant' && typeof only === 'object' && others.length === 0 && !('cache_control' in only)
  return isPlain && only.type === 'text' ? String(only.text) : content
}

/** Results first, nothing blank, never nothing at all. */
function filled(content: string | Block[]): string | Block[] {
  if (typeof content === 'string') return content
  const said = content.filter(block => !isBlank(block))
  const results = said.filter(({ type }) => type === 'tool_result')
  const all = [...results, ...said.filter(({ type }) => type !== 'tool_result')]
  return all.length > 0 ? all : [{ type: 'text', text: PLACEHOLDER }]
}
