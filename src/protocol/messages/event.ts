import { isObject, type JsonObject } from '../../core/ask.ts'
import type { SoleText } from '../alike.ts'
import { parseAnswer, reportedError } from '../answer.ts'
import { type Frame, namedFrame } from '../sse.ts'

/** One event of a stream, read and written. */
export interface Event {
  readonly type: string
  readonly payload: JsonObject
}

/** Some servers leave the event's name out, some the payload's type; a mark of the other dialect means nothing here. */
export function parseEvent(frame: Frame): Event | undefined {
  if (frame.data.trim() === '[DONE]') return undefined
  const payload = parseAnswer(frame.data)
  const type = typeof payload.type === 'string' ? payload.type : frame.event
  if (type === 'error') throw reportedError(payload)
  // An event's name goes onto a line of its own, where a vendor must not be able to write more than a name.
  return /^[\w.-]+$/.test(type) ? { type, payload } : undefined
}

export const part = (payload: JsonObject, key: string): JsonObject => {
  const value = payload[key]
  return isObject(value) ? value : {}
}

/** Where the texts of deltas stand. */
export const TEXT: SoleText = { path: ['delta', 'text'], isThought: false }
export const THINKING: SoleText = { path: ['delta', 'thinking'], isThought: true }
export const INPUT: SoleText = { path: ['delta', 'partial_json'], isThought: false }

export const write = (payload: { readonly type: string } & JsonObject): string =>
  namedFrame(payload.type, JSON.stringify(payload))

export const STOP = namedFrame('message_stop', '{"type":"message_stop"}')
