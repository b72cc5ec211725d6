import { isObject, type JsonObject } from '../../core/ask.ts'
import { Seen } from '../../core/seen.ts'
import type { TurnEvent } from '../../core/turn.ts'
import { AnswerWriter, flatText, malformed, piecesOf } from '../answer.ts'
import { textOf } from '../fields.ts'
import { JsonProgress } from '../json-progress.ts'
import type { Answer, View } from '../protocol.ts'
import { parseWithText } from './arguments.ts'
import { type Call, finishReason, wholeCalls } from './calls.ts'
import { wrapText } from './text-tools.ts'
import { reasoningText, spokenText, thoughtText } from './texts.ts'
import { readFinishReason, readUsage, writeUsage } from './wire.ts'

// ── dialect -> vocabulary ───────────────────────────────────────────────────────────────────────────────────────────

/** The vocabulary holds one answer; a caller who asked for several is not crossed with another dialect. */
export function firstChoice({ choices }: JsonObject) {
  const listed: unknown[] = Array.isArray(choices) ? choices : []
  const choice = listed.find(one => isObject(one) && (one.index ?? 0) === 0) ?? listed[0]
  if (!isObject(choice) || !isObject(choice.message)) throw malformed()
  return { choice, message: choice.message, reason: readFinishReason(choice.finish_reason) ?? ('stop' as const) }
}

export function decodeBody(text: string): readonly TurnEvent[] {
  const body = parseWithText(text)
  const { choice, message, reason } = firstChoice(body)
  const answer = new AnswerWriter()
  answer.start(undefined)
  answer.say({ type: 'thinking', text: reasoningText(message) })
  for (const piece of piecesOf(message.content)) answer.say(piece)
  answer.say({ type: 'text', text: flatText(message.refusal) })
  for (const call of toolCalls(message)) {
    answer.call(call.id, call.name)
    answer.delta(new JsonProgress().accept(call.arguments))
  }
  const stopSequence = typeof choice.stop_reason === 'string' ? choice.stop_reason : undefined
  answer.finish(message.refusal ? 'refusal' : reason, readUsage(body.usage), stopSequence)
  return answer.drain()
}

const customCall = ({ name, input }: JsonObject) => ({
  name: textOf(name),
  arguments: wrapText(typeof input === 'string' ? input : ''),
})

export function toolCalls(message: JsonObject): { id: string; name: string; arguments: string }[] {
  if (!message.tool_calls && !message.function_call) return []
  const listed: unknown[] = Array.isArray(message.tool_calls) ? message.tool_calls : []
  const legacy = isObject(message.function_call) ? [{ function: message.function_call }] : []
  return [...listed, ...legacy].flatMap(call => {
    if (!isObject(call)) return []
    const id = typeof call.id === 'string' ? call.id : ''
    if (isObject(call.custom)) return [{ id, ...customCall(call.custom) }]
    if (!isObject(call.function)) return []
    const { name, arguments: made } = call.function
    return [{ id, name: textOf(name), arguments: isObject(made) ? JSON.stringify(made) : textOf(made) }]
  })
}

/** All that a message or a delta says, for the count where the upstream has none. */
export const saidIn = (message: JsonObject): string => thoughtIn(message) + spokenIn(message)

export const thoughtIn = (message: JsonObject): string => reasoningText(message) + thoughtText(message.content)

export function spokenIn(message: JsonObject): string {
  const made = toolCalls(message).reduce((text, call) => text + call.arguments, '')
  return spokenText(message.content) + flatText(message.refusal) + made
}

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
              ...wholeCalls(calls, view),
            },
            logprobs: null,
            finish_reason: finishReason(seen.reason ?? 'stop', view),
          },
        ],
        usage: writeUsage(bill),
      }),
  }
}

interface FoldedCall extends Call {
  arguments: string
}

function fold(events: readonly TurnEvent[], seen: Seen) {
  const folded = { content: '', reasoning: '', calls: [] as FoldedCall[] }
  let open: 'text' | 'thinking' | FoldedCall = 'text'
  for (const event of events) {
    seen.event(event)
    if (event.type === 'open') {
      const { block } = event
      if (block.type === 'text' && folded.content) folded.content += '\n\n'
      const index = folded.calls.length
      open = block.type === 'tool-call' ? { index, id: block.id, name: block.name, arguments: '' } : block.type
      if (typeof open !== 'string') folded.calls.push(open)
    }
    if (event.type !== 'delta') continue
    if (open === 'text') folded.content += event.text
    else if (open === 'thinking') folded.reasoning += event.text
    else open.arguments += event.text
  }
  return folded
}
