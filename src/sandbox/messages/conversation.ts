import { type Fields, fieldsAt, listAt, nonEmptyTextAt, optional, textAt } from '../fields.ts'
import type { Conversation } from '../prompt.ts'
import { badRequest } from '../refusal.ts'

interface Message {
  readonly path: string
  readonly role: string
  readonly text: string
  readonly calls: readonly Call[]
  readonly results: readonly Result[]
}

interface Call {
  readonly id: string
  readonly name: string
  readonly input: Fields
}

interface Result {
  readonly id: string
  readonly text: string
}

/** What one content block contributes to its message. */
type Block = { readonly text?: string; readonly call?: Call; readonly result?: Result }

const ROLES = ['user', 'assistant']

export function readConversation(list: readonly unknown[], system: unknown): Conversation {
  const messages = combineTurns(
    list.map((message, at) => readMessage(message, `messages.${at}`, at === list.length - 1)),
  )
  if (messages[0]?.role !== 'user') throw badRequest('messages: first message must use the "user" role')
  const toolNames = checkToolUse(messages)

  const systemText = readSystem(system)
  const last = messages.at(-1)
  const results = last?.results ?? []
  return {
    system: systemText,
    question: messages.findLast(({ role, text }) => role === 'user' && text !== '')?.text ?? '',
    ending: results.length > 0 ? 'results' : last?.role === 'user' ? 'question' : 'other',
    results: results.map(({ id, text }) => ({ name: toolNames.get(id) ?? '', text })),
    texts: [systemText, ...messages.flatMap(textsOf)],
  }
}

/** Consecutive messages of one role are one turn. */
function combineTurns(messages: readonly Message[]): readonly Message[] {
  const turns: Message[] = []
  for (const message of messages) {
    const last = turns.at(-1)
    if (last?.role === message.role) turns[turns.length - 1] = joinTurns(last, message)
    else turns.push(message)
  }
  return turns
}

const joinTurns = (one: Message, other: Message): Message => ({
  ...one,
  text: [one.text, other.text].filter(text => text !== '').join('\n'),
  calls: [...one.calls, ...other.calls],
  results: [...one.results, ...other.results],
})

function textsOf({ text, calls, results }: Message): readonly string[] {
  return [
    text,
    ...calls.flatMap(call => [call.name, JSON.stringify(call.input)]),
    ...results.map(result => result.text),
  ]
}

/** Every result answers an earlier call, and every call is answered before the assistant speaks again. */
function checkToolUse(messages: readonly Message[]): ReadonlyMap<string, string> {
  const toolNames = new Map<string, string>()
  const unanswered = new Set<string>()
  for (const { path, role, calls, results } of messages) {
    if (role === 'assistant') checkAllAnswered(unanswered)
    for (const { id } of results) {
      if (!toolNames.has(id)) throw badRequest(`${path}: unexpected \`tool_use_id\` in a \`tool_result\`: ${id}`)
      unanswered.delete(id)
    }
    for (const { id, name } of calls) {
      if (toolNames.has(id)) throw badRequest(`${path}: \`tool_use\` ids must be unique`)
      toolNames.set(id, name)
      unanswered.add(id)
    }
  }
  checkAllAnswered(unanswered)
  return toolNames
}

function checkAllAnswered(unanswered: ReadonlySet<string>): void {
  if (unanswered.size === 0) return
  const ids = [...unanswered].join(', ')
  throw badRequest(`\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}`)
}

function readSystem(system: unknown): string {
  if (system === undefined || system === null) return ''
  if (typeof system === 'string') return system
  return joinTexts(listAt(system, 'system').map((block, at) => readBlock(block, `system.${at}`)))
}

function readMessage(value: unknown, path: string, isLast: boolean): Message {
  const fields = fieldsAt(value, path)
  const role = textAt(fields.role, `${path}.role`)
  if (!ROLES.includes(role)) throw badRequest(`${path}.role: Input should be 'user' or 'assistant'`)

  const blocks = readContent(fields.content, `${path}.content`)
  checkBlocks(blocks, role, path)
  const mayBeEmpty = isLast && role === 'assistant'
  if (blocks.length === 0 && !mayBeEmpty) throw badRequest(`${path}: all messages must have non-empty content`)
  return {
    path,
    role,
    text: joinTexts(blocks),
    calls: blocks.flatMap(block => block.call ?? []),
    results: blocks.flatMap(block => block.result ?? []),
  }
}

function checkBlocks(blocks: readonly Block[], role: string, path: string): void {
  const foreign = role === 'user' ? 'call' : 'result'
  if (blocks.some(block => block[foreign])) throw badRequest(`${path}: a tool ${foreign} cannot come from the ${role}`)
  if (blocks.some((block, at) => block.result && at > 0 && !blocks[at - 1]?.result)) {
    throw badRequest(`${path}: \`tool_result\` blocks must come before all other content`)
  }
}

function readContent(content: unknown, path: string): readonly Block[] {
  if (content === undefined) throw badRequest(`${path}: Field required`)
  if (content === '') return []
  if (typeof content === 'string') return [{ text: readText(content, path) }]
  return listAt(content, path).map((block, at) => readBlock(block, `${path}.${at}`))
}

function readBlock(value: unknown, path: string): Block {
  const block = fieldsAt(value, path)
  switch (block.type) {
    case 'text':
      return { text: readText(block.text, path) }
    case 'tool_use':
      return { call: readCall(block, path) }
    case 'tool_result':
      return { result: readResult(block, path) }
    case 'thinking':
      nonEmptyTextAt(block.signature, `${path}.signature`)
      return {}
    default:
      if (block.type === 'image') throw badRequest(`${path}: content of type "image" is not supported by this model`)
      return {}
  }
}

function readText(value: unknown, path: string): string {
  const text = textAt(value, `${path}.text`)
  if (text.trim() === '') throw badRequest(`${path}: text content blocks must be non-empty`)
  return text
}

function readCall(block: Fields, path: string): Call {
  return {
    id: nonEmptyTextAt(block.id, `${path}.id`),
    name: nonEmptyTextAt(block.name, `${path}.name`),
    input: fieldsAt(block.input, `${path}.input`),
  }
}

function readResult({ tool_use_id, content }: Fields, path: string): Result {
  const id = nonEmptyTextAt(tool_use_id, `${path}.tool_use_id`)
  if (typeof content === 'string') return { id, text: content }
  const blocks = optional(content, `${path}.content`, readContent) ?? []
  return { id, text: joinTexts(blocks) }
}

function joinTexts(blocks: readonly Block[]): string {
  return blocks.flatMap(block => block.text ?? []).join('\n')
}
