import {
  checkRange,
  countAt,
  type Fields,
  fieldsAt,
  flagAt,
  listAt,
  nonEmptyListAt,
  nonEmptyTextAt,
  optional,
  textAt,
} from '../fields.ts'
import { asksForJson, type Format, type Prompt, type Tool, type ToolChoice } from '../prompt.ts'
import { badRequest } from '../refusal.ts'
import { checkToolChoice, checkToolNames } from '../tools.ts'
import { readConversation } from './conversation.ts'

const TOOL_NAME = /^[A-Za-z0-9_-]{1,128}$/

const THINKING_TYPES = ['enabled', 'disabled', 'adaptive', 'between_tools']
const THINKING_BUDGET_MIN = 1024

export function readPrompt(body: Fields): Prompt {
  const model = nonEmptyTextAt(body.model, 'model')
  const maxTokens = readMaxTokens(body)
  const { texts, ...conversation } = readConversation(nonEmptyListAt(body.messages, 'messages'), body.system)
  const tools = readTools(body.tools)
  checkRange(body.temperature, 'temperature', 1)
  checkRange(body.top_p, 'top_p', 1)

  return {
    model,
    ...conversation,
    tools,
    toolChoice: checkToolChoice(readToolChoice(body.tool_choice), tools),
    parallelCalls: readParallelCalls(body.tool_choice),
    format: readFormat(body.output_config, conversation.system),
    maxTokens,
    stopSequences: readStops(body.stop_sequences),
    mayThink: readMayThink(body.thinking, maxTokens),
    stream: flagAt(body.stream, 'stream'),
    streamUsage: true,
    inputTexts: [...texts, tools.length > 0 ? JSON.stringify(body.tools) : ''],
  }
}

function readTools(value: unknown): readonly Tool[] {
  const tools = (optional(value, 'tools', listAt) ?? []).flatMap((tool, at) => readTool(tool, `tools.${at}`))
  return checkToolNames(tools, TOOL_NAME)
}

/** Tools that a vendor runs itself have a type of their own; this one runs none. */
function readTool(value: unknown, path: string): Tool[] {
  const tool = fieldsAt(value, path)
  if ((tool.type ?? 'custom') !== 'custom') return []
  const { type = 'object', ...schema } = fieldsAt(tool.input_schema, `${path}.input_schema`)
  if (type !== 'object') throw badRequest(`${path}.input_schema.type: Input should be 'object'`)
  const name = nonEmptyTextAt(tool.name, `${path}.name`)
  const description = optional(tool.description, `${path}.description`, textAt) ?? ''
  return [{ name, description, schema: { type, ...schema } }]
}

function readToolChoice(value: unknown): ToolChoice {
  if (value === undefined || value === null) return { type: 'auto' }
  const { type, name } = fieldsAt(value, 'tool_choice')
  if (type === 'auto' || type === 'none' || type === 'any') return { type }
  if (type !== 'tool') throw badRequest(`tool_choice.type: Input should be 'auto', 'any', 'tool' or 'none'`)
  return { type, name: nonEmptyTextAt(name, 'tool_choice.name') }
}

function readParallelCalls(toolChoice: unknown): boolean {
  const choice = optional(toolChoice, 'tool_choice', fieldsAt) ?? {}
  return !flagAt(choice.disable_parallel_tool_use, 'tool_choice.disable_parallel_tool_use')
}

function readFormat(outputConfig: unknown, system: string): Format {
  const config = optional(outputConfig, 'output_config', fieldsAt) ?? {}
  const format = optional(config.format, 'output_config.format', fieldsAt)
  if (format === undefined) return asksForJson(system) ? { type: 'json' } : { type: 'text' }
  if (format.type !== 'json_schema') throw badRequest(`output_config.format.type: Input should be 'json_schema'`)
  return { type: 'json', schema: fieldsAt(format.schema, 'output_config.format.schema') }
}

function readMaxTokens({ max_tokens }: Fields): number {
  if (max_tokens === undefined) throw badRequest('max_tokens: Field required')
  return countAt(max_tokens, 'max_tokens')
}

function readStops(value: unknown): readonly string[] {
  const stops = (optional(value, 'stop_sequences', listAt) ?? []).map((stop, at) =>
    textAt(stop, `stop_sequences.${at}`),
  )
  const blank = stops.findIndex(stop => stop.trim() === '')
  if (blank >= 0) throw badRequest(`stop_sequences.${blank}: each stop sequence must contain non-whitespace`)
  return stops
}

function readMayThink(value: unknown, maxTokens: number): boolean {
  const { type, budget_tokens } = optional(value, 'thinking', fieldsAt) ?? { type: 'adaptive' }
  if (!THINKING_TYPES.includes(String(type))) throw badRequest(`thinking.type: '${type}' is not a known type`)
  if (type === 'enabled') checkBudget(countAt(budget_tokens, 'thinking.budget_tokens'), maxTokens)
  return type !== 'disabled'
}

function checkBudget(budget: number, maxTokens: number): void {
  if (budget < THINKING_BUDGET_MIN) {
    throw badRequest(`thinking.budget_tokens: Input should be greater than or equal to ${THINKING_BUDGET_MIN}`)
  }
  if (budget >= maxTokens) throw badRequest('`max_tokens` must be greater than `thinking.budget_tokens`')
}
