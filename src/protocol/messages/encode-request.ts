import type { Capabilities } from '../../core/capabilities.ts'
import type { TextPart, Tool, Turn } from '../../core/turn.ts'
import { arrangeHistory } from '../history.ts'
import { namesOf } from '../loss.ts'
import { legalUserId, NameBook } from '../names.ts'
import type { EncodedRequest, Target } from '../protocol.ts'
import { stringify } from '../raw-json.ts'
import { encodeSampling, lostSampling } from '../sampling.ts'
import { inputSchema } from '../schema.ts'
import { toldInWords } from '../told-tools.ts'
import { CACHE_MARKS_MAX, limitMarks, mark } from './cache-marks.ts'
import { legalId } from './content.ts'
import { type OutputPlan, offeredTools, planOutput } from './output.ts'
import { encodeThinking } from './thinking.ts'
import { MessageWriter } from './write-messages.ts'

const TOOL_NAME_LENGTH_MAX = 128

export function encodeRequest(turn: Turn, target: Target): EncodedRequest {
  const { capabilities: can } = target
  const names = new NameBook(TOOL_NAME_LENGTH_MAX)
  const history = arrangeHistory(turn.messages, { repair: can.repair, legalId })
  const maxTokens = Math.min(target.maxTokens ?? target.maxOutputTokens, target.maxOutputTokens)
  const plan = planOutput(turn, target)
  const { thinking, effort } = encodeThinking({ turn, target, maxTokens, history, toolChoice: plan.toolChoice })
  const thinks = thinking !== undefined && thinking.type !== 'disabled'
  const writer = new MessageWriter(target, names, thinks)
  const offered = can.tools ? offeredTools(plan, history) : []
  const tools = offered.map(tool => ({ ...tool, strict: tool.strict && can.strictTools }))
  const single = turn.parallelTools || !can.parallelTools ? {} : { disable_parallel_tool_use: true }
  const stops = turn.stop.filter(stop => stop.trim() !== '')
  const config = { effort, format: plan.format }
  const body = {
    model: target.model,
    max_tokens: maxTokens,
    tools: tools.length > 0 ? tools.map(tool => encodeTool(tool, names)) : undefined,
    tool_choice: tools.length > 0 ? encodeToolChoice(plan, single, names) : undefined,
    system: encodeSystem(plan.sentence ? [...turn.system, { type: 'text', text: plan.sentence }] : turn.system),
    messages: writer.messages(can.tools ? history : toldInWords(history)),
    thinking,
    output_config: effort || plan.format ? config : undefined,
    ...(thinks ? {} : encodeSampling(turn, can)),
    stop_sequences: stops.length > 0 ? stops : undefined,
    metadata: turn.user && can.userField !== 'none' ? { user_id: legalUserId(turn.user) } : undefined,
    service_tier: can.serviceTier && turn.serviceTier ? SERVICE_TIERS[turn.serviceTier] : undefined,
    stream: turn.stream,
  }
  const lostMarks = limitMarks(body, can.cacheControl ? CACHE_MARKS_MAX : 0)
  const dropped = [...writer.dropped, ...lost(turn, can, body), ...(lostMarks ? ['cache_control'] : [])]
  return { body: stringify(body), dropped, renamed: names.renamed, emulation: plan.emulation }
}

/** What this upstream cannot be given although the vocabulary holds it. */
function lost(turn: Turn, can: Capabilities, body: Readonly<Record<string, unknown>>): string[] {
  const hasTools = turn.tools.length > 0
  const hasEffort = turn.effort !== undefined && turn.effort !== 'none'
  const names = namesOf({
    stop: turn.stop.some(stop => stop !== '' && stop.trim() === ''),
    tools: hasTools && !can.tools,
    strict: turn.tools.some(({ strict }) => strict) && !can.strictTools,
    parallel_tool_calls: hasTools && !turn.parallelTools && !can.parallelTools,
    service_tier: turn.serviceTier !== undefined && !can.serviceTier,
    user: turn.user !== undefined && can.userField === 'none',
  })
  if (hasEffort && body.thinking === undefined) names.push(turn.effortField)
  return [...lostSampling(turn, body), ...names]
}

const SERVICE_TIERS = { auto: 'auto', standard: 'standard_only' } as const

/** One string, unless the place of a mark must be kept. */
function encodeSystem(texts: readonly TextPart[]): unknown {
  if (texts.length === 0) return undefined
  if (!texts.some(({ cache }) => cache)) return texts.map(({ text }) => text).join('\n')
  return texts.map(({ text, cache }) => ({ type: 'text', text, ...mark(cache) }))
}

function encodeTool({ name, description, schema, strict, cache }: Tool, names: NameBook): unknown {
  const input_schema = inputSchema(schema)
  return { name: names.legal(name), description, input_schema, strict: strict || undefined, ...mark(cache) }
}

function encodeToolChoice({ tools, toolChoice: choice }: OutputPlan, single: object, names: NameBook): unknown {
  // The caller offered nothing; what is declared for the sake of the history must not be called.
  if (tools.length === 0) return { type: 'none' }
  switch (choice?.type) {
    case undefined:
      return Object.keys(single).length > 0 ? { type: 'auto', ...single } : undefined
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
