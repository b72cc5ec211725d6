import type { Protocol } from '../pairs/pairs.ts'
import type { JsonBody } from '../support/duet.ts'
import { framesOf } from '../support/http.ts'
import { rawJson } from './raw.ts'

/**
 * The body that a vendor would have sent in place of these frames. A stream that breaks off becomes a body that breaks
 * off; an error in it, and a frame that is not JSON, become the whole of it.
 */
export function wholeBody(protocol: Protocol, stream: string): string {
  const frames = framesOf(stream.replaceAll('\r\n', '\n')).filter(({ data }) => data !== '' && data !== '[DONE]')
  const broken = frames.find(({ json }) => json === undefined || json.error)
  if (broken) return broken.data
  const events = frames.map(({ json }) => json)
  const { body, isEnded } = protocol === 'chat' ? wholeCompletion(events) : wholeMessage(events)
  const text = rawJson(body)
  return isEnded || stream.includes('[DONE]') ? text : text.slice(0, -1)
}

interface Whole {
  readonly body: JsonBody
  /** Somebody said why it ended. */
  readonly isEnded: boolean
}

function wholeCompletion(chunks: readonly JsonBody[]): Whole {
  const choices: JsonBody[] = []
  for (const { index, delta, finish_reason, ...rest } of chunks.flatMap(chunk => chunk.choices)) {
    choices[index] ??= { index, message: { role: 'assistant', content: null }, finish_reason: null }
    const choice = choices[index]
    addDelta(choice.message, delta)
    Object.assign(choice, rest, finish_reason && { finish_reason })
  }
  const usage = chunks.findLast(chunk => chunk.usage)?.usage
  const { id, created, model } = chunks[0]
  const body = { id, object: 'chat.completion', created, model, choices, ...(usage && { usage }) }
  return { body, isEnded: choices.some(choice => choice?.finish_reason) }
}

function addDelta(message: JsonBody, { role: _, content, tool_calls = [], function_call, ...texts }: JsonBody): void {
  if (content) message.content = message.content ? message.content + content : content
  for (const [name, text] of Object.entries(texts)) message[name] = `${message[name] ?? ''}${text ?? ''}`
  if (tool_calls.length > 0) message.tool_calls ??= []
  for (const call of tool_calls) addCall(message.tool_calls, call)
  if (function_call) message.function_call = joinedCall(message.function_call ?? {}, function_call)
}

/** Fragments belong together by their number; vendors that give none give every call an id and send it at once. */
function addCall(calls: JsonBody[], { index = calls.length, id, type, function: made }: JsonBody): void {
  calls[index] ??= { id, type, function: {} }
  calls[index].function = joinedCall(calls[index].function, made)
}

function joinedCall(before: JsonBody, { name, arguments: made }: JsonBody): JsonBody {
  const isText = typeof made === 'string'
  return { name: before.name ?? name, arguments: isText ? (before.arguments ?? '') + made : (made ?? before.arguments) }
}

function wholeMessage(events: readonly JsonBody[]): Whole {
  const of = (type: string) => events.filter(event => event.type === type)
  const [{ message }] = of('message_start')
  const endings = of('message_delta')
  const body = {
    ...message,
    content: of('content_block_start').map(({ index, content_block }) =>
      wholeBlock(
        content_block,
        of('content_block_delta').filter(event => event.index === index),
      ),
    ),
    ...Object.assign({}, ...endings.map(({ delta }) => delta)),
    usage: Object.assign({ ...message.usage }, ...endings.map(({ usage }) => usage)),
  }
  return { body, isEnded: body.stop_reason !== null }
}

function wholeBlock(start: JsonBody, deltas: readonly JsonBody[]): JsonBody {
  const joined = (name: string) => deltas.map(({ delta }) => delta[name] ?? '').join('')
  const block = { ...start }
  for (const name of ['text', 'thinking', 'signature']) if (name in block) block[name] += joined(name)
  const input = joined('partial_json')
  return input === '' ? block : { ...block, input: { $raw: input } }
}
