import { isObject, type JsonObject } from '../../core/ask.ts'
import { Seen } from '../../core/seen.ts'
import type { TurnEvent } from '../../core/turn.ts'
import { AnswerWriter, flatText, malformed, parseAnswer } from '../answer.ts'
import type { Answer, View } from '../protocol.ts'
import { FINISH_REASONS, readFinishReason, readUsage, writeUsage } from './wire.ts'

// ── dialect -> vocabulary ───────────────────────────────────────────────────────────────────────────────────────────

export function firstChoice(body: JsonObject) {
  const choice: unknown = Array.isArray(body.choices) ? body.choices[0] : undefined
  if (!isObject(choice) || !isObject(choice.message)) throw malformed()
  return { choice, message: choice.message, reason: readFinishReason(choice.finish_reason) ?? ('stop' as const) }
}

export function decodeBody(text: string): readonly TurnEvent[] {
  const body = parseAnswer(text)
  const { choice, message, reason } = firstChoice(body)
  const answer = new AnswerWriter()
  answer.start(undefined)
  answer.say('thinking', flatText(message.reasoning_content ?? message.reasoning))
  answer.say('text', flatText(message.content) || flatText(message.refusal))
  for (const call of toolCalls(message)) {
    answer.call(call.id, call.name)
    answer.delta(call.arguments)
  }
  const stopSequence = typeof choice.stop_reason === 'string' ? choice.stop_reason : undefined
  answer.finish(message.refusal ? 'refusal' : reason, readUsage(body.usage), stopSequence)
  return answer.drain()
}

export function toolCalls(message: JsonObject): { id: string; name: string; arguments: string }[] {
  const listed: unknown[] = Array.isArray(message.tool_calls) ? message.tool_calls : []
  const legacy = isObject(message.function_call) ? [{ function: message.function_call }] : []
  return [...listed, ...legacy].flatMap(call => {
    if (!isObject(call) || !isObject(call.function)) return []
    const { name, arguments: made } = call.function
    const id = typeof call.id === 'string' ? call.id : ''
    return [{ id, name: String(name ?? ''), arguments: argumentsText(made) }]
  })
}

/** Some vendors send the arguments as an object where the dialect has JSON text. */
export const argumentsText = (made: unknown): string =>
  typeof made === 'string' ? made : isObject(made) ? JSON.stringify(made) : ''

// ── vocabulary -> dialect ───────────────────────────────────────────────────────────────────────────────────────────

export function encodeBody(events: readonly TurnEvent[], view: View): Answer {
  const seen = new Seen()
  const folded = fold(events, seen)
  const { content, reasoning, calls } = folded
  return {
    seen,
    render: bill =>
      JSON.stringify({
        id: `chatcmpl-${view.id}`,
        object: 'chat.completion',
        created: view.createdSeconds,
        model: view.model,
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content: content === '' && calls.length > 0 ? null : content,
              reasoning_content: reasoning || undefined,
              refusal: null,
              tool_calls: calls.length > 0 ? calls.map(encodeCall) : undefined,
            },
            logprobs: null,
            finish_reason: FINISH_REASONS[seen.reason ?? 'stop'],
          },
        ],
        usage: writeUsage(bill),
      }),
  }
}

interface Call {
  readonly id: string
  readonly name: string
  arguments: string
}

const encodeCall = ({ id, name, arguments: made }: Call) => ({
  id,
  type: 'function',
  function: { name, arguments: made || '{}' },
})

function fold(events: readonly TurnEvent[], seen: Seen) {
  const folded = { content: '', reasoning: '', calls: [] as Call[] }
  let open: 'text' | 'thinking' | Call = 'text'
  for (const event of events) {
    seen.event(event)
    if (event.type === 'open') {
      const { block } = event
      if (block.type === 'text' && folded.content) folded.content += '\n\n'
      open = block.type === 'tool-call' ? { id: block.id, name: block.name, arguments: '' } : block.type
      if (typeof open !== 'string') folded.calls.push(open)
    }
    if (event.type !== 'delta') continue
    if (open === 'text') folded.content += event.text
    else if (open === 'thinking') folded.reasoning += event.text
    else open.arguments += event.text
  }
  return folded
}
