import { isObject, type JsonObject } from '../../core/ask.ts'
import { Seen } from '../../core/seen.ts'
import type { TurnEvent } from '../../core/turn.ts'
import { AnswerWriter, malformed, parseAnswer } from '../answer.ts'
import { textOf } from '../fields.ts'
import { elements, member, rawAt, root, type Span } from '../json.ts'
import { legalName } from '../names.ts'
import type { Answer, View } from '../protocol.ts'
import { stringify } from '../raw-json.ts'
import { cutToolInput, toolInput } from './tool-input.ts'
import { readStopReason, readUsage, STOP_REASONS, writeUsage } from './wire.ts'

/** Servers of the other dialect take no longer ones back. */
export const TOOL_ID_LENGTH_MAX = 64
export const EMPTY_TEXT = { type: 'text', text: '' }

// ── dialect -> vocabulary ───────────────────────────────────────────────────────────────────────────────────────────

export function contentOf(body: JsonObject): JsonObject[] {
  if (!Array.isArray(body.content) || !body.content.every(isObject)) throw malformed()
  return body.content
}

export function contentSpans(text: string): Span[] {
  const content = member(text, root(text), 'content')
  return content ? elements(text, content.start) : []
}

export function decodeBody(text: string): readonly TurnEvent[] {
  const body = parseAnswer(text)
  const content = contentOf(body)
  const spans = contentSpans(text)
  const answer = new AnswerWriter()
  answer.start(undefined)
  content.forEach((block, place) => {
    switch (block.type) {
      case 'text':
        answer.say({ type: 'text', text: textOf(block.text) })
        break
      case 'thinking':
        answer.say({ type: 'thinking', text: textOf(block.thinking) })
        break
      case 'tool_use':
        answer.call(textOf(block.id), textOf(block.name))
        answer.delta(rawAt(text, spans[place]?.start ?? 0, 'input') ?? '{}')
        break
      default:
        // What the vocabulary cannot hold still stands between the texts on both sides of it.
        answer.close()
    }
  })
  const stopSequence = typeof body.stop_sequence === 'string' ? body.stop_sequence : undefined
  answer.finish(readStopReason(body.stop_reason) ?? 'stop', readUsage(body.usage), stopSequence)
  return answer.drain()
}

// ── vocabulary -> dialect ───────────────────────────────────────────────────────────────────────────────────────────

export function encodeBody(events: readonly TurnEvent[], view: View): Answer {
  const seen = new Seen()
  const { blocks, stopSequence } = fold(events, seen)
  const shown = blocks.filter(block => view.showThinking || block.type !== 'thinking')
  return {
    seen,
    render: bill =>
      stringify({
        id: view.id,
        type: 'message',
        role: 'assistant',
        model: view.model,
        content: shown.length > 0 ? shown.map(block => encodeBlock(block, seen.reason === 'length')) : [EMPTY_TEXT],
        stop_reason: STOP_REASONS[seen.reason ?? 'stop'],
        stop_sequence: stopSequence ?? null,
        usage: writeUsage(bill),
      }),
  }
}

interface Folded {
  readonly type: 'text' | 'thinking' | 'tool-call'
  readonly id: string
  readonly name: string
  text: string
}

/** A signature must be a string for clients to accept the block; only the model's own vendor could make a real one. */
function encodeBlock({ type, id, name, text }: Folded, isCut: boolean): unknown {
  switch (type) {
    case 'text':
      return { type: 'text', text }
    case 'thinking':
      return { type: 'thinking', thinking: text, signature: '' }
    case 'tool-call':
      return {
        type: 'tool_use',
        id: legalName(id, TOOL_ID_LENGTH_MAX),
        name,
        input: isCut ? cutToolInput(text) : toolInput(text),
      }
  }
}

function fold(events: readonly TurnEvent[], seen: Seen) {
  const blocks: Folded[] = []
  let stopSequence: string | undefined
  for (const event of events) {
    seen.event(event)
    if (event.type === 'open') {
      const { id, name } = event.block.type === 'tool-call' ? event.block : { id: '', name: '' }
      blocks.push({ type: event.block.type, id, name, text: '' })
    }
    const last = blocks.at(-1)
    if (event.type === 'delta' && last) last.text += event.text
    if (event.type === 'finish') stopSequence = event.stopSequence
  }
  return { blocks, stopSequence }
}
