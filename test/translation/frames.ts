import type { JsonBody } from '../support/duet.ts'
import { type Frame, framesOf } from '../support/http.ts'

/** What a messages client received, in the fixture's notation: one line an event. */
export function eventLines(stream: string): readonly string[] {
  return framesOf(stream).map(eventLine)
}

function eventLine({ event, data, json }: Frame): string {
  switch (event) {
    case 'message_start':
    case 'message_stop':
      return event
    case 'content_block_start':
      return `${event} #${json.index} ${blockLine(json.content_block)}`
    case 'content_block_delta':
      return `${event} #${json.index} ${deltaLine(json.delta)}`
    case 'content_block_stop':
      return `${event} #${json.index}`
    case 'message_delta':
      return `${event} stop_reason=${json.delta.stop_reason} stop_sequence=${json.delta.stop_sequence}`
    case 'error':
      return errorLine(json)
    default:
      return data
  }
}

function blockLine({ type, id, name, input }: JsonBody): string {
  return type === 'tool_use' ? `${type} id=${id} name=${name} input=${JSON.stringify(input)}` : type
}

function deltaLine({ type, text, thinking, partial_json, ...rest }: JsonBody): string {
  const piece = text ?? thinking ?? partial_json
  return piece === undefined ? `${type} ${JSON.stringify(rest)}` : `${type} ${JSON.stringify(piece)}`
}

/** The interface puts the gateway's own name before the type that the fixture writes. */
export function errorLine({ error }: JsonBody): string {
  return `error type=${error.type.replace(/^duet_/, '')}`
}

/** What a chat client received, in the fixture's notation: one line a chunk. */
export function chunkLines(stream: string): readonly string[] {
  return framesOf(stream).map(chunkLine)
}

function chunkLine({ data, json }: Frame): string {
  if (data === '[DONE]') return data
  if (json.error) return 'data {"error":{…}}'
  if (json.choices.length === 0) return json.usage ? 'usage frame (choices [])' : data
  const [{ delta, finish_reason }] = json.choices
  if (finish_reason !== null) return `finish_reason=${finish_reason} delta=${JSON.stringify(delta)}`
  switch (Object.keys(delta).join(' ')) {
    case 'role content':
      return `role=${delta.role} content=${JSON.stringify(delta.content)}`
    case 'content':
      return `content ${JSON.stringify(delta.content)}`
    case 'reasoning_content':
      return `reasoning_content ${JSON.stringify(delta.reasoning_content)}`
    case 'tool_calls':
      return delta.tool_calls.map(callLine).join(', ')
    default:
      return data
  }
}

function callLine({ index, id, function: { name, arguments: made } }: JsonBody): string {
  if (id === undefined) return `tool[${index}] arguments ${JSON.stringify(made)}`
  return `tool[${index}] start id=${id} name=${name} arguments=${JSON.stringify(made)}`
}

/** The same lines with `<minted>` for ids that the gateway had to make up, where the fixture expects such a one. */
export function withMinted(lines: readonly string[], expected: readonly string[]): readonly string[] {
  return lines.map((line, place) =>
    expected[place]?.includes('id=<minted>') ? line.replace(/id=[A-Za-z0-9_-]{1,40} /, 'id=<minted> ') : line,
  )
}
