import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Protocol } from './duet.ts'
import { chatFrames, type Move, messagesFrames } from './frames.ts'

/** A vendor whose answers a test decides: a real HTTP server that speaks both protocols, in streams as agents do. */
export interface Upstream {
  /** With `/v1`, for a channel's `base_url`. */
  readonly base: string
  /** Every request that came, in order. */
  readonly visits: Visit[]
  stop(): void
}

export interface Visit {
  readonly protocol: Protocol
  readonly body: Body
}

// biome-ignore lint/suspicious/noExplicitAny: requests of two protocols, looked into freely and asserted on at once
export type Body = any

/** An agent whose result never arrives would be told to call its tool again and again. */
const VISITS_MAX = 30

export async function startUpstream(answer: (visit: Visit) => Move): Promise<Upstream> {
  const visits: Visit[] = []
  const server = createServer(async (request, response) => {
    const protocol = request.url?.endsWith('/messages') ? 'messages' : 'chat'
    const visit: Visit = { protocol, body: JSON.parse(await text(request)) }
    visits.push(visit)
    const frames = protocol === 'chat' ? chatFrames : messagesFrames
    const move = visits.length > VISITS_MAX ? 'That is enough.' : answer(visit)
    if (visit.body.stream) send(response, frames(move))
    else response.writeHead(501).end('{"error":{"message":"only streams are scripted"}}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    base: `http://127.0.0.1:${port}/v1`,
    visits,
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function send(response: ServerResponse, frames: readonly string[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const frame of frames) response.write(frame)
  response.end()
}

export interface OfferedTool {
  readonly name: string
  readonly description: string
  readonly schema: Body
}

/** Without those that are to be loaded on demand: only upstreams of the messages protocol know how, so only they get them. */
export function toolsOf({ protocol, body }: Visit): OfferedTool[] {
  const tools: Body[] = body.tools ?? []
  if (protocol === 'chat') {
    return tools.map(({ function: { name, description, parameters } }) => ({ name, description, schema: parameters }))
  }
  return tools
    .filter(({ defer_loading }) => !defer_loading)
    .map(({ name, description, input_schema }) => ({ name, description, schema: input_schema }))
}

/** The text that a tool returned for this call, if the conversation has come that far. */
export function resultOf({ protocol, body }: Visit, callId: string): string | undefined {
  const messages: Body[] = body.messages
  const result =
    protocol === 'chat'
      ? messages.find(({ role, tool_call_id }) => role === 'tool' && tool_call_id === callId)
      : messages
          .flatMap(({ content }) => (Array.isArray(content) ? content : []))
          .find(({ type, tool_use_id }) => type === 'tool_result' && tool_use_id === callId)
  if (result === undefined) return undefined
  const parts: Body[] = Array.isArray(result.content) ? result.content : [{ text: result.content }]
  return parts.map(part => part.text).join('')
}

export const isAskedIn = ({ body }: Visit, prompt: string): boolean => JSON.stringify(body.messages).includes(prompt)
