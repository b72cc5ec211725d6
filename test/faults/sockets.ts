import { connect, type Socket } from 'node:net'
import type { JsonBody } from '../support/duet.ts'

/** What a connection brought back. */
export interface RawAnswer {
  readonly status: number
  readonly text: string
}

export interface RawRequest {
  readonly path: string
  readonly key: string
  readonly body: JsonBody
}

/**
 * Sends all of them at the same moment: every request has a connection of its own, and all are open before the first one
 * is written. `fetch` would let 256 go and keep the others back without a word.
 */
export async function sendAtOnce(url: string, requests: readonly RawRequest[]): Promise<Promise<RawAnswer>[]> {
  const sockets = await Promise.all(requests.map(() => open(url)))
  return requests.map((request, place) => exchange(sockets[place] as Socket, request))
}

function open(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  return new Promise((resolve, reject) => {
    socket.once('connect', () => resolve(socket))
    socket.once('error', reject)
  })
}

function exchange(socket: Socket, { path, key, body }: RawRequest): Promise<RawAnswer> {
  const text = JSON.stringify(body)
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    `authorization: Bearer ${key}`,
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
  ]
  const received: Buffer[] = []
  const answer = new Promise<RawAnswer>((resolve, reject) => {
    socket.on('data', data => received.push(Buffer.from(data)))
    socket.once('error', reject)
    socket.once('close', () => resolve(parse(Buffer.concat(received).toString())))
  })
  socket.write(`${head.join('\r\n')}\r\n\r\n${text}`)
  return answer
}

function parse(message: string): RawAnswer {
  const end = message.indexOf('\r\n\r\n')
  const head = message.slice(0, end)
  const body = message.slice(end + 4)
  const isChunked = /^transfer-encoding: *chunked/im.test(head)
  return { status: Number(head.split(' ')[1]), text: isChunked ? unchunk(body) : body }
}

/** Chunks of a text without characters of several bytes: lengths in bytes are lengths of strings. */
function unchunk(body: string): string {
  let text = ''
  for (let rest = body; ; ) {
    const lineEnd = rest.indexOf('\r\n')
    const length = Number.parseInt(rest.slice(0, lineEnd), 16)
    if (!(length > 0)) return text
    text += rest.slice(lineEnd + 2, lineEnd + 2 + length)
    rest = rest.slice(lineEnd + 2 + length + 2)
  }
}
