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

const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/

export function readPrompt(body: Fields): Prompt {
  const model = nonEmptyTextAt(body.model, 'model')
  const { texts, ...conversation } = readConversation(nonEmptyListAt(body.messages, 'messages'))
  const tools = readTools(body.tools)
  checkRange(body.temperature, 'temperature', 2)
  checkRange(body.top_p, 'top_p', 1)

  return {
    model,
    ...conversation,
    tools,
    toolChoice: checkToolChoice(readToolChoice(body.tool_choice), tools),
    parallelCalls: body.parallel_tool_calls !== false,
    format: readFormat(body.response_format, conversation.system),
    maxTokens: readMaxTokens(body),
    stopSequences: readStops(body.stop),
    mayThink: body.reasoning_effort !== 'none',
    stream: flagAt(body.stream, 'stream'),
    streamUsage: readStreamUsage(body.stream_options),
    inputTexts: [...texts, tools.length > 0 ? JSON.stringify(body.tools) : ''],
  }
}

function readTools(value: unknown): readonly Tool[] {
  const tools = (optional(value, 'tools', listAt) ?? []).map((tool, at) => readTool(tool, `tools.${at}`))
  return checkToolNames(tools, TOOL_NAME)
}

function readTool(value: unknown, path: string): Tool {
  const tool = fieldsAt(value, path)
  if (tool.type !== 'function') throw badRequest(`${path}.type: Input should be 'function'`)
  const fields = fieldsAt(tool.function, `${path}.function`)
  return {
    name: nonEmptyTextAt(fields.name, `${path}.function.name`),
    description: optional(fields.description, `${path}.function.description`, textAt) ?? '',
    schema: optional(fields.parameters, `${path}.function.parameters`, fieldsAt) ?? {},
  }
}

function readToolChoice(value: unknown): ToolChoice {
  if (value === undefined || value === null || value === 'auto') return { type: 'auto' }
  if (value === 'none') return { type: 'none' }
  if (value === 'required') return { type: 'any' }
  const choice = fieldsAt(value, 'tool_choice')
  if (choice.type !== 'function') throw badRequest(`tool_choice.type: Input should be 'function'`)
  const { name } = fieldsAt(choice.function, 'tool_choice.function')
  return { type: 'tool', name: nonEmptyTextAt(name, 'tool_choice.function.name') }
}

function readFormat(value: unknown, system: string): Format {
  const format = optional(value, 'response_format', fieldsAt) ?? { type: 'text' }
  if (format.type === 'text') return asksForJson(system) ? { type: 'json' } : { type: 'text' }
  if (format.type === 'json_object') return { type: 'json' }
  if (format.type !== 'json_schema') throw badRequest('response_format.type: Unknown type')
  const { name, schema } = fieldsAt(format.json_schema, 'response_format.json_schema')
  nonEmptyTextAt(name, 'response_format.json_schema.name')
  return { type: 'json', schema: optional(schema, 'response_format.json_schema.schema', fieldsAt) }
}

function readMaxTokens({ max_tokens, max_completion_tokens }: Fields): number {
  const older = optional(max_tokens, 'max_tokens', countAt)
  return optional(max_completion_tokens, 'max_completion_tokens', countAt) ?? older ?? Infinity
}

function readStops(value: unknown): readonly string[] {
  if (value === undefined || value === null) return []
  const stops = typeof value === 'string' ? [value] : listAt(value, 'stop')
  return stops.map((stop, at) => textAt(stop, `stop.${at}`)).filter(stop => stop !== '')
}

function readStreamUsage(value: unknown): boolean {
  const options = optional(value, 'stream_options', fieldsAt) ?? {}
  return flagAt(options.include_usage, 'stream_options.include_usage')
}
