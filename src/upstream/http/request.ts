import type { Asked } from './call.ts'

/** What would end a header, or is none of its characters. */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/
const NOT_ASCII = /[\x80-\xff]/

/** A request as it goes over the line: a text in one piece with its head, and so in one packet if it is small. */
export function requestOf({ target, headers, body }: Asked): readonly (string | Uint8Array)[] {
  let head = `POST ${target.path} HTTP/1.1\r\nhost: ${target.authority}\r\n`
  for (const name in headers) {
    // A key may have come from a file with a line break at its end.
    const value = (headers[name] as string).trim()
    if (UNSENDABLE.test(value)) throw new Error(`The header ${name} cannot be sent`)
    head += `${name}: ${value}\r\n`
  }
  head += `content-length: ${lengthOf(body)}\r\n\r\n`
  // Headers are Latin-1, as they came; the body is UTF-8.
  if (NOT_ASCII.test(head)) return [Buffer.from(head, 'latin1'), ...(typeof body === 'string' ? [body] : body)]
  return typeof body === 'string' ? [head + body] : [head, ...body]
}

export const lengthOf = (body: Asked['body']): number =>
  typeof body === 'string' ? Buffer.byteLength(body) : body.reduce((sum, piece) => sum + piece.byteLength, 0)
