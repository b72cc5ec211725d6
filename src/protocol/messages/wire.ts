import { type Ask, type ImagePlace, isObject, type JsonObject } from '../../core/ask.ts'
import { type ErrorContext, errorObject, type Failure, invalid } from '../../core/failure.ts'
import type { Source } from '../../core/source.ts'
import type { FinishReason } from '../../core/turn.ts'
import { tokenCount, type Usage } from '../../core/usage.ts'
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
  requiredField,
  requiredMessages,
  text,
} from '../fields.ts'
import { asSource } from '../json.ts'
import { promptSize } from '../prompt.ts'
import type { Bill } from '../protocol.ts'
import { namedFrame } from '../sse.ts'

// ── requests ────────────────────────────────────────────────────────────────────────────────────────────────────────

const NO_TOOLS: ReadonlySet<string> = new Set()
const ROLES = ['user', 'assistant', 'system'] as const

/** Sections 2.8, 2.9 and 4.2: everything the contract names is checked, everything else is accepted. */
export function read(body: JsonObject, written: string | Source): Ask {
  const source = asSource(written)
  const messages = requiredMessages(body)
  const maxTokens = positiveInteger(requiredField(body, 'max_tokens'), 'max_tokens')
  const images: ImagePlace[] = []
  each(messages, 'messages', (message, place) => checkMessage(message, place, images))
  checkSystem(body.system)
  const tools = optional(body.tools, 'tools', list) ?? NONE
  const toolNames: string[] = []
  each(tools, 'tools', tool => toolNames.push(checkTool(tool)))
  checkToolChoice(body.tool_choice, toolNames)
  checkScalars(body)
  refuseThread(body)
  const thinking = optional(body.thinking, 'thinking', object)
  return {
    protocol: 'messages',
    body,
    source,
    model: body.model as string,
    stream: optional(body.stream, 'stream', boolean) ?? false,
    includeUsage: true,
    showThinking: thinking !== undefined && thinking.type !== 'disabled',
    maxTokens,
    choices: 1,
    promptSize: promptSize(source),
    images,
    textTools: NO_TOOLS,
    legacyCalls: false,
    wantsJson: false,
  }
}

const NONE: readonly unknown[] = []

function checkMessage(value: unknown, place: number, images: ImagePlace[]): void {
  const message = object(value, ITSELF)
  oneOf(message.role, ROLES, 'role')
  const { content } = message
  if (typeof content === 'string') return
  if (!Array.isArray(content)) throw invalid('content', 'must be a string or an array of blocks')
  each(content, 'content', (block, index) => {
    for (const image of checkBlock(block)) {
      const at = `messages[${place}].content[${index}]`
      images.push({ ...image, param: at + image.param, message: place, part: [index, ...image.part] })
    }
  })
}

/** What a like upstream of this dialect cannot do is the caller's business: nobody stands in for it. */
export const canPassOn = (): boolean => true

/** With its place as seen from the block that was checked. */
type FoundImage = Pick<ImagePlace, 'param' | 'part' | 'characters'>

const NO_IMAGES: readonly FoundImage[] = []

/** Returns the images of a block: itself, or those inside a tool result. */
function checkBlock(value: unknown): readonly FoundImage[] {
  const block = object(value, ITSELF)
  switch (text(block.type, 'type')) {
    case 'text':
      text(block.text, 'text')
      return NO_IMAGES
    case 'image':
      return [{ param: '', part: [], characters: imageCharacters(block.source) }]
    case 'tool_use':
      name(block.id, 'id')
      name(block.name, 'name')
      optional(block.input, 'input', object)
      return NO_IMAGES
    case 'tool_result':
      name(block.tool_use_id, 'tool_use_id')
      optional(block.is_error, 'is_error', boolean)
      return checkResult(block.content)
    default:
      return NO_IMAGES
  }
}

function checkResult(content: unknown): readonly FoundImage[] {
  if (content === undefined || content === null || typeof content === 'string') return NO_IMAGES
  const images: FoundImage[] = []
  each(list(content, 'content'), 'content', (block, place) => {
    for (const { param, part, characters } of checkBlock(block)) {
      images.push({ param: `.content[${place}]${param}`, part: [place, ...part], characters })
    }
  })
  return images
}

function imageCharacters(value: unknown): number {
  const source = object(value, 'source')
  const data = optional(source.data, 'source.data', text)
  return (data ?? optional(source.url, 'source.url', text) ?? '').length
}

function checkSystem(system: unknown): void {
  if (system === undefined || system === null || typeof system === 'string') return
  if (!Array.isArray(system)) throw invalid('system', 'must be a string or an array of text blocks')
  each(system, 'system', block => text(object(block, ITSELF).text, 'text'))
}

function checkTool(value: unknown): string {
  const tool = object(value, ITSELF)
  const type = optional(tool.type, 'type', text) ?? 'custom'
  optional(tool.description, 'description', text)
  // Tools that the vendor runs itself have a type of their own, no schema, and not always a name.
  if (type !== 'custom') return optional(tool.name, 'name', text) ?? ''
  object(tool.input_schema, 'input_schema')
  return name(tool.name, 'name')
}

function checkToolChoice(value: unknown, toolNames: readonly string[]): void {
  const choice = optional(value, 'tool_choice', object)
  if (!choice) return
  const type = oneOf(choice.type, ['auto', 'any', 'tool', 'none'], 'tool_choice.type')
  if (type !== 'tool') return
  const wanted = name(choice.name, 'tool_choice.name')
  if (!toolNames.includes(wanted)) throw invalid('tool_choice.name', 'must name one of the tools')
}

function checkScalars(body: JsonObject): void {
  optional(body.temperature, 'temperature', number)
  optional(body.top_p, 'top_p', number)
  optional(body.top_k, 'top_k', number)
  optional(body.metadata, 'metadata', object)
  optional(body.output_config, 'output_config', object)
  optional(body.stop_sequences, 'stop_sequences', list)?.forEach((stop, place) => {
    text(stop, `stop_sequences[${place}]`)
  })
}

// ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What vendors send; unknown reasons end a turn like `end_turn`, never pass through. */
export function readStopReason(value: unknown): FinishReason | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  switch (value) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
    case 'compaction':
      return 'length'
    case 'tool_use':
      return 'tool-calls'
    case 'refusal':
      return 'refusal'
    case 'stop_sequence':
      return 'stop-sequence'
    default:
      return 'stop'
  }
}

export const STOP_REASONS: Record<FinishReason, string> = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  refusal: 'refusal',
}

/** The three classes of input are disjoint here, as in the vocabulary. Counters that are absent keep their last value. */
export function readUsage(value: unknown, before?: Usage): Usage | undefined {
  if (!isObject(value)) return before
  const details = isObject(value.output_tokens_details) ? value.output_tokens_details : {}
  const counted = [value.input_tokens, value.output_tokens].some(counter => tokenCount(counter) !== undefined)
  if (!counted) return before
  const output = tokenCount(value.output_tokens) ?? before?.output ?? 0
  return {
    input: tokenCount(value.input_tokens) ?? before?.input ?? 0,
    cacheRead: tokenCount(value.cache_read_input_tokens) ?? before?.cacheRead ?? 0,
    cacheWrite: tokenCount(value.cache_creation_input_tokens) ?? before?.cacheWrite ?? 0,
    output,
    reasoning: Math.min(tokenCount(details.thinking_tokens) ?? before?.reasoning ?? 0, output),
  }
}

/** Without it the upstream has not said what the answer came to. */
export const hasOutputCount = (usage: unknown): boolean =>
  isObject(usage) && tokenCount(usage.output_tokens) !== undefined

export function writeUsage({ usage, cost }: Bill): Record<string, unknown> {
  return {
    input_tokens: usage.input,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
    output_tokens: usage.output,
    output_tokens_details: { thinking_tokens: usage.reasoning },
    cost,
  }
}

// ── failures ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A superset: some clients of this dialect hide the message of a body without a `type` of its own. */
export const errorBody = (failure: Failure, context: ErrorContext): string =>
  JSON.stringify({ type: 'error', error: errorObject(failure, context) })

export const errorFrames = (failure: Failure, context: ErrorContext): string =>
  namedFrame('error', errorBody(failure, context))
