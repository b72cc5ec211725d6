import type { Tool, ToolChoice } from './prompt.ts'
import { badRequest } from './refusal.ts'

export function checkToolNames(tools: readonly Tool[], allowed: RegExp): readonly Tool[] {
  const names = tools.map(tool => tool.name)
  const bad = names.find(name => !allowed.test(name))
  if (bad !== undefined) throw badRequest(`tools: The name '${bad}' should match ${allowed.source}`)
  if (new Set(names).size < names.length) throw badRequest('tools: Tool names must be unique')
  return tools
}

export function checkToolChoice(choice: ToolChoice, tools: readonly Tool[]): ToolChoice {
  if (choice.type === 'any' && tools.length === 0)
    throw badRequest('tool_choice: A call is demanded but there are no tools')
  if (choice.type === 'tool' && !tools.some(tool => tool.name === choice.name)) {
    throw badRequest(`tool_choice: Tool '${choice.name}' not found in provided tools`)
  }
  return choice
}
