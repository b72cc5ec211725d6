import { type Fields, fieldsAt, listAt, nonEmptyTextAt, optional, textAt } from '../fields.ts'
import type { Conversation } from '../prompt.ts'
import { badRequest } from '../refusal.ts'

interface Message {
  readonly path: string
  readonly role: string
  readonly text: string
  readonly calls: readonly Call[]
  /** The call that a tool message answers. */
  readonly answers?: string
}

interface Call {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function']
const INSTRUCTING_ROLES = ['system', 'developer']

export function readConversation(list: readonly unknown[]): Conversation {
  const messages = list.map((message, at) => readMessage(message, `messages.${at}`))
  const toolNames = checkToolUse(messages)

  const isInstruction = ({ role }: Message) => INSTRUCTING_ROLES.includes(role)
  const instructions = messages.filter(isInstruction)
  const turns = messages.filter(message => !isInstruction(message))
  const results = turns.slice(turns.findLastIndex(({ role }) => role !== 'tool') + 1)
  const endsWithUser = turns.at(-1)?.role === 'user'
  return {
    system: instructions.map(({ text }) => text).join('\n'),
    question: turns.findLast(({ role, text }) => role === 'user' && text !== '')?.text ?? '',
    ending: results.length > 0 ? 'results' : endsWithUser ? 'question' : 'other',
    results: results.map(({ answers, text }) => ({ name: toolNames.get(answers ?? '') ?? '', text })),
    texts: messages.flatMap(({ text, calls }) => [text, ...calls.flatMap(call => [call.name, call.arguments])]),
  }
}

/** Every result answers an earlier call, and every call is answered before anyone else speaks. */
function checkToolUse(messages: readonly Message[]): ReadonlyMap<string, string> {
  const toolNames = new Map<string, string>()
  const unanswered = new Set<string>()
  for (const { path, answers, calls } of messages) {
    if (answers === undefined) checkAllAnswered(unanswered)
    else if (!toolNames.has(answers)) {
      throw badRequest(`${path}: messages with role 'tool' must be a response to a preceding message with 'tool_calls'`)
    }
    unanswered.delete(answers ?? '')
    for (const { id, name } of calls) {
      toolNames.set(id, name)
      unanswered.add(id)
    }
  }
  checkAllAnswered(unanswered)
  return toolNames
}

function checkAllAnswered(unanswered: ReadonlySet<string>): void {
  if (unanswered.size === 0) return
  throw badRequest(
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${[...unanswered].join(', ')}`,
  )
}

function readMessage(value: unknown, path: string): Message {
  const fields = fieldsAt(value, path)
  const role = textAt(fields.role, `${path}.role`)
  if (!ROLES.includes(role)) throw badRequest(`${path}.role: '${role}' is not one of ${ROLES.join(', ')}`)

  const text = readContent(fields.content, `${path}.content`)
  const calls = role === 'assistant' ? readCalls(fields, path) : []
  if (role !== 'tool') return { path, role, text, calls }
  return { path, role, text, calls, answers: nonEmptyTextAt(fields.tool_call_id, `${path}.tool_call_id`) }
}

function readContent(content: unknown, path: string): string {
  if (content === undefined || content === null) return ''
  if (typeof content === 'string') return content
  return listAt(content, path)
    .map((part, at) => readPart(part, `${path}.${at}`))
    .join('\n')
}

function readPart(part: unknown, path: string): string {
  const { type, text, refusal } = fieldsAt(part, path)
  if (type === 'text') return textAt(text, `${path}.text`)
  if (type === 'refusal') return textAt(refusal, `${path}.refusal`)
  throw badRequest(`${path}: content of type ${JSON.stringify(type)} is not supported by this model`)
}

function readCalls({ tool_calls }: Fields, path: string): readonly Call[] {
  const calls = optional(tool_calls, `${path}.tool_calls`, listAt) ?? []
  return calls.map((call, at) => readCall(call, `${path}.tool_calls.${at}`))
}

function readCall(value: unknown, path: string): Call {
  const call = fieldsAt(value, path)
  const called = fieldsAt(call.function, `${path}.function`)
  return {
    id: nonEmptyTextAt(call.id, `${path}.id`),
    name: nonEmptyTextAt(called.name, `${path}.function.name`),
    arguments: textAt(called.arguments, `${path}.function.arguments`),
  }
}
