import type { Duet, JsonBody } from './duet.ts'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: JsonBody
}

export interface Frame {
  readonly event: string | undefined
  readonly data: string
  readonly json: JsonBody
}

export const CHAT = '/v1/chat/completions'
export const MESSAGES = '/v1/messages'

/** Sends whatever it is given, as it is, with the credential that the path's protocol asks for. */
export async function send(
  duet: Duet,
  path: string,
  init: RequestInit & { key?: string | null } = {},
): Promise<Answer> {
  const { key = duet.key, ...rest } = init
  const headers = new Headers(rest.headers)
  if (key !== null)
    path.includes('messages') ? headers.set('x-api-key', key) : headers.set('authorization', `Bearer ${key}`)
  const response = await fetch(duet.url + path, { ...rest, headers })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: parse(text) }
}

export function post(
  duet: Duet,
  path: string,
  body: unknown,
  init: RequestInit & { key?: string | null } = {},
): Promise<Answer> {
  return send(duet, path, { ...init, method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) })
}

export const user = (content: unknown) => [{ role: 'user', content }]

/** The frames of a stream, parsed by the rules of server-sent events. */
export function framesOf(text: string): Frame[] {
  return text
    .split('\n\n')
    .filter(block => block.split('\n').some(line => line.startsWith('data:')))
    .map(block => {
      const lines = block.split('\n')
      const event = lines.find(line => line.startsWith('event: '))?.slice(7)
      const data = lines
        .filter(line => line.startsWith('data:'))
        .map(line => line.slice(5).trim())
        .join('\n')
      return { event, data, json: parse(data) }
    })
}

function parse(text: string): JsonBody {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
