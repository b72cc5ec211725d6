import type { Capabilities } from '../../core/capabilities.ts'
import { nearestEffort } from '../../core/effort.ts'
import type { TextPart, Tool, ToolChoice, Turn } from '../../core/turn.ts'
import { arrangeHistory } from '../history.ts'
import { jsonSentence } from '../json-mode.ts'
import { namesOf } from '../loss.ts'
import { legalName, legalUserId, NameBook } from '../names.ts'
import type { Emulation, EncodedRequest, Target } from '../protocol.ts'
import { rawJson, stringify } from '../raw-json.ts'
import { encodeSampling, lostSampling } from '../sampling.ts'
import { inputSchema } from '../schema.ts'
import { toldInWords } from '../told-tools.ts'
import { MessageWriter } from './write-messages.ts'

/** Longer ones are refused by the dialect's own vendor. */
const TOOL_ID_LENGTH_MAX = 40
const TOOL_NAME_LENGTH_MAX = 64
const STOPS_MAX = 4

export function encodeRequest(turn: Turn, target: Target): EncodedRequest {
  const { capabilities: can } = target
  const names = new NameBook(TOOL_NAME_LENGTH_MAX)
  const legalId = (id: string) => legalName(id, TOOL_ID_LENGTH_MAX)
  const history = arrangeHistory(turn.messages, { repair: can.repair, legalId })
  const writer = new MessageWriter(target, names)
  const { format, sentence, emulation } = encodeFormat(turn, target)
  const system: readonly TextPart[] = sentence ? [...turn.system, { type: 'text', text: sentence }] : turn.system
  const tools = can.tools ? turn.tools.map(tool => ({ ...tool, strict: tool.strict && can.strictTools })) : []
  const hasTools = tools.length > 0
  const stops = turn.stop.filter(stop => stop !== '')
  const body = {
    model: target.model,
    messages: [...writer.system(system), ...writer.messages(can.tools ? history : toldInWords(history))],
    tools: hasTools ? tools.map(tool => encodeTool(tool, names)) : undefined,
    tool_choice: hasTools && turn.toolChoice ? encodeToolChoice(turn.toolChoice, tools, names) : undefined,
    parallel_tool_calls: hasTools && can.parallelTools && !turn.parallelTools ? false : undefined,
    response_format: format,
    reasoning_effort: target.reasoning && turn.effort ? nearestEffort(turn.effort, can.efforts) : undefined,
    [can.maxTokensField]: target.maxTokens && Math.min(target.maxTokens, target.maxOutputTokens),
    ...encodeSampling(turn, can),
    stop: stops.length > 0 ? stops.slice(0, STOPS_MAX) : undefined,
    ...(turn.user && can.userField !== 'none' ? { [can.userField]: legalUserId(turn.user) } : {}),
    service_tier: can.serviceTier && turn.serviceTier ? SERVICE_TIERS[turn.serviceTier] : undefined,
    stream: turn.stream,
    stream_options: turn.stream && can.streamUsage ? { include_usage: true } : undefined,
  }
  const dropped = [...writer.dropped, ...lost(turn, can, body)]
  return { body: stringify(body), dropped, renamed: names.renamed, emulation }
}

/** What this upstream cannot be given although the vocabulary holds it. */
function lost(turn: Turn, can: Capabilities, body: Readonly<Record<string, unknown>>): string[] {
  const hasTools = turn.tools.length > 0
  const hasEffort = turn.effort !== undefined && turn.effort !== 'none'
  const names = namesOf({
    stop_sequences: turn.stop.filter(stop => stop !== '').length > STOPS_MAX,
    tools: hasTools && !can.tools,
    strict: turn.tools.some(({ strict }) => strict) && !can.strictTools,
    disable_parallel_tool_use: hasTools && !turn.parallelTools && !can.parallelTools,
    service_tier: turn.serviceTier !== undefined && !can.serviceTier,
    metadata: turn.user !== undefined && can.userField === 'none',
    cache_control: turn.tools.some(({ cache }) => cache),
  })
  if (hasEffort && body.reasoning_effort === undefined) names.push(turn.effortField)
  return [...lostSampling(turn, body), ...names]
}

const SERVICE_TIERS = { auto: 'auto', standard: 'default' } as const

// ── tools and output ────────────────────────────────────────────────────────────────────────────────────────────────

function encodeTool({ name, description, schema, strict }: Tool, names: NameBook): unknown {
  const parameters = inputSchema(schema)
  return {
    type: 'function',
    function: { name: names.legal(name), description, parameters, strict: strict || undefined },
  }
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
