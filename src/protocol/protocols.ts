import type { ProtocolName } from '../core/ask.ts'
import * as chatDecode from './chat/decode-request.ts'
import * as chatDecodeStream from './chat/decode-stream.ts'
import * as chatEdit from './chat/edit.ts'
import * as chatEditStream from './chat/edit-stream.ts'
import * as chatEncode from './chat/encode-request.ts'
import * as chatEncodeStream from './chat/encode-stream.ts'
import * as chatFold from './chat/fold.ts'
import * as chatResponse from './chat/response.ts'
import * as chatWire from './chat/wire.ts'
import * as messagesDecode from './messages/decode-request.ts'
import * as messagesDecodeStream from './messages/decode-stream.ts'
import * as messagesEdit from './messages/edit.ts'
import * as messagesEditStream from './messages/edit-stream.ts'
import * as messagesEncode from './messages/encode-request.ts'
import * as messagesEncodeStream from './messages/encode-stream.ts'
import * as messagesFold from './messages/fold.ts'
import * as messagesResponse from './messages/response.ts'
import * as messagesWire from './messages/wire.ts'
import type { Protocol } from './protocol.ts'
import { namedFrame } from './sse.ts'

const chat: Protocol = {
  name: 'chat',
  path: '/chat/completions',
  keepalive: ': keepalive\n\n',
  upstreamHeaders: apiKey => (apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  forwardedHeaders: () => ({}),
  ...chatWire,
  ...chatEdit,
  ...chatEditStream,
  ...chatDecode,
  ...chatEncode,
  ...chatResponse,
  ...chatDecodeStream,
  ...chatEncodeStream,
  ...chatFold,
}

/** The oldest that every server of this dialect knows. */
const VERSION = { 'anthropic-version': '2023-06-01' }

const messages: Protocol = {
  name: 'messages',
  path: '/messages',
  keepalive: namedFrame('ping', '{"type":"ping"}'),
  upstreamHeaders: apiKey => ({ ...VERSION, ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }) }),
  forwardedHeaders: headers =>
    Object.fromEntries(
      ['anthropic-version', 'anthropic-beta'].flatMap(name => {
        const value = headers.get(name)
        return value ? [[name, value]] : []
      }),
    ),
  ...messagesWire,
  ...messagesEdit,
  ...messagesEditStream,
  ...messagesDecode,
  ...messagesEncode,
  ...messagesResponse,
  ...messagesDecodeStream,
  ...messagesEncodeStream,
  ...messagesFold,
}

export const PROTOCOLS: Readonly<Record<ProtocolName, Protocol>> = { chat, messages }
