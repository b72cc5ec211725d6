import type { JsonBody } from './duet.ts'

/** A scripted upstream: a real HTTP server whose answers a test decides. */
export interface ScriptedUpstream {
  /** With `/v1`, for a channel's `base_url`. */
  readonly base: string
  /** Every request that came, in order. */
  readonly requests: UpstreamVisit[]
  stop(): Promise<void>
}

export interface UpstreamVisit {
  readonly path: string
  readonly headers: Headers
  readonly text: string
  readonly body: JsonBody
  readonly signal: AbortSignal
}

export function scriptUpstream(answer: (visit: UpstreamVisit) => Response | Promise<Response>): ScriptedUpstream {
  const requests: UpstreamVisit[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const text = await request.text()
      const path = new URL(request.url).pathname
      const visit = { path, headers: request.headers, text, body: parse(text), signal: request.signal }
      requests.push(visit)
      return answer(visit)
    },
  })
  return { base: `${server.url.origin}/v1`, requests, stop: () => server.stop(true) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Frames of a stream, each sent as a chunk of its own; a promise among them is waited for, and a function is called when
 * all before it is on its way. Then the stream closes, falls silent, or is reset.
 */
export function eventStream(
  frames: readonly (string | Promise<unknown> | (() => unknown))[],
  ending: 'close' | 'silence' | 'reset' = 'close',
): Response {
  const steps = [...frames]
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    const step = steps.shift()
    const next = await (typeof step === 'function' ? step() : step)
    if (typeof next === 'string') return controller.enqueue(new TextEncoder().encode(next))
    if (steps.length > 0) return pull(controller)
    if (ending === 'close') return controller.close()
    if (ending === 'silence') return new Promise<void>(() => {})
    // An error other than undefined would be printed.
    controller.error(undefined)
  }
  return new Response(new ReadableStream({ pull }), { headers: { 'content-type': 'text/event-stream' } })
}

/** A `duet.yaml` with one model, `acme/swift-2`, behind one channel of the given protocol. */
export function configFor(
  base: string,
  protocol: 'chat' | 'messages',
  extra: { model?: string; channel?: string } = {},
): string {
  return `
models:
  - id: acme/swift-2
    name: Swift 2
    price: { input: 1, output: 4 }
    max_output_tokens: 8192
${extra.model ?? ''}
channels:
  - name: acme-main
    protocol: ${protocol}
    base_url: ${base}
    api_key: vendor-key-0123456789
    models: { acme/swift-2: swift-2-large }
    breaker: false
${extra.channel ?? ''}
`
}

/**
 * A `duet.yaml` with `acme/chat` and `acme/messages`, each behind a channel that speaks what its name says. Tests make them
 * fail one way after the other: none of it is a reason to leave them alone.
 */
export function configForBoth(base: string, extra: { channel?: string; more?: string } = {}): string {
  const protocols = ['chat', 'messages']
  const models = protocols.map(
    protocol => `
  - { id: acme/${protocol}, price: { input: 1, output: 4 } }
  - { id: acme/${protocol}-seeing, price: { input: 1, output: 4 }, images: forward }`,
  )
  const channels = protocols.map(
    protocol => `
  - name: acme-${protocol}
    protocol: ${protocol}
    base_url: ${base}
    api_key: ${VENDOR_KEY}
    models: { acme/${protocol}: ${VENDOR_MODEL}, acme/${protocol}-seeing: ${VENDOR_MODEL} }
    breaker: false
${extra.channel ?? ''}`,
  )
  return `models:${models.join('')}\nchannels:${channels.join('')}\n${extra.more ?? ''}`
}

/** Nothing of a known shape in it: it can be found only by those who know it. */
export const VENDOR_KEY = 'Zx9QrTunmistakable'
export const VENDOR_MODEL = 'swift-2-large'

/** An upstream that hangs up as soon as it is asked. */
export function resetUpstream(): Pick<ScriptedUpstream, 'base' | 'stop'> {
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: socket => void socket.terminate() },
  })
  return { base: `http://127.0.0.1:${listener.port}/v1`, stop: async () => listener.stop(true) }
}
