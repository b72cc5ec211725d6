import type { JsonBody } from './duet.ts'
import { eventStream, VENDOR_MODEL } from './upstream.ts'
import type { ProtocolName } from './wire.ts'

/** What a vendor of either protocol answers, as it travels. */

export const vendorBody = (protocol: ProtocolName, text = 'Good morning'): JsonBody =>
  protocol === 'chat'
    ? {
        id: 'chatcmpl-vendor',
        object: 'chat.completion',
        created: 1,
        model: VENDOR_MODEL,
        choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
      }
    : {
        id: 'msg_vendor',
        type: 'message',
        role: 'assistant',
        model: VENDOR_MODEL,
        content: [{ type: 'text', text }],
        stop_reason: 'end_turn',
        stop_sequence: null,
        usage: { input_tokens: 7, output_tokens: 5 },
      }

/** A whole stream of two deltas, "Good" and " morning". */
export const vendorFrames = (protocol: ProtocolName): string[] => [...openingFrames(protocol), ...ENDINGS[protocol]]

/** The same without its end: what a client has when the vendor breaks off. */
export const openingFrames = (protocol: ProtocolName): string[] => [...OPENINGS[protocol]]

export const chatFrame = (choice: object, more: object = {}): string =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-vendor',
    object: 'chat.completion.chunk',
    created: 1,
    model: VENDOR_MODEL,
    choices: [{ index: 0, finish_reason: null, ...choice }],
    ...more,
  })}\n\n`

export const messagesFrame = (type: string, more: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`

const textDelta = (text: string) =>
  messagesFrame('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })

const OPENINGS: Record<ProtocolName, readonly string[]> = {
  chat: [
    chatFrame({ delta: { role: 'assistant', content: '' } }),
    chatFrame({ delta: { content: 'Good' } }),
    chatFrame({ delta: { content: ' morning' } }),
  ],
  messages: [
    messagesFrame('message_start', {
      message: {
        id: 'msg_vendor',
        type: 'message',
        role: 'assistant',
        model: VENDOR_MODEL,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 7, output_tokens: 0 },
      },
    }),
    messagesFrame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    textDelta('Good'),
    textDelta(' morning'),
  ],
}

const ENDINGS: Record<ProtocolName, readonly string[]> = {
  chat: [
    chatFrame({ delta: {}, finish_reason: 'stop' }),
    chatFrame({}, { choices: [], usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 } }),
    'data: [DONE]\n\n',
  ],
  messages: [
    messagesFrame('content_block_stop', { index: 0 }),
    messagesFrame('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } }),
    messagesFrame('message_stop'),
  ],
}

/** Answers as asked: whole, or as a stream. */
export const vendorAnswer = (visit: { path: string; body: JsonBody }): Response => {
  const protocol = protocolOf(visit)
  return visit.body.stream ? eventStream(vendorFrames(protocol)) : Response.json(vendorBody(protocol))
}

export const protocolOf = ({ path }: { path: string }): ProtocolName =>
  path.endsWith('/messages') ? 'messages' : 'chat'

export const vendorError = (protocol: ProtocolName, message: string): JsonBody =>
  protocol === 'chat'
    ? { error: { message, type: 'vendor_error', param: null, code: 'vendor_code' } }
    : { type: 'error', error: { type: 'invalid_request_error', message }, request_id: 'req_vendor' }
