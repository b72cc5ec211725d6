import type { Tool, ToolChoice, Turn, TurnMessage } from '../../core/turn.ts'
import { jsonSentence } from '../json-mode.ts'
import type { Emulation, Target } from '../protocol.ts'
import { ANY_OBJECT, schemaOf } from '../schema.ts'
import { sanitizeSchema } from './schema.ts'
import { canThink } from './thinking.ts'

/** How an upstream of this dialect is brought to answer in the form that was asked for. */
export interface OutputPlan {
  readonly tools: readonly Tool[]
  readonly toolChoice: ToolChoice | undefined
  readonly format?: unknown
  readonly sentence?: string
  readonly emulation: Emulation | undefined
}

const OUTPUT_TOOL = 'structured_output'

/** The dialect has no plain JSON mode: a tool that must be called has a JSON input, or the model is asked in words. */
export function planOutput(turn: Turn, target: Target): OutputPlan {
  const { tools, toolChoice, output } = turn
  const plain: OutputPlan = { tools, toolChoice, emulation: undefined }
  if (output.type === 'text' || toolChoice?.type === 'tool') return plain
  if (output.type === 'schema' && target.capabilities.structuredOutput) {
    return { ...plain, format: { type: 'json_schema', schema: sanitizeSchema(output.schema) } }
  }
  const others = toolChoice?.type === 'none' ? [] : tools
  const wantsThought = canThink(target) && turn.effort !== undefined && turn.effort !== 'none'
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
export function offeredTools({ tools, emulation }: OutputPlan, history: readonly TurnMessage[]): readonly Tool[] {
  if (tools.length > 0 && emulation?.type !== 'tool') return tools
  const offered = new Set(tools.map(({ name }) => name))
  const used = history.flatMap(message => (message.role === 'assistant' ? message.parts : []))
  const missing = new Set(
    used.flatMap(part => (part.type === 'tool-call' && !offered.has(part.name) ? [part.name] : [])),
  )
  return [...tools, ...[...missing].map(name => ({ name, description: undefined, schema: ANY_OBJECT, strict: false }))]
}
