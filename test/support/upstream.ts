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
  // biome-ignore lint/suspicious/noExplicitAny: a test reads bodies of many shapes
  readonly body: any
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

/** Frames of a stream, each sent as a chunk of its own. */
export function eventStream(frames: readonly string[]): Response {
  const chunks = [...frames]
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = chunks.shift()
      if (next === undefined) controller.close()
      else controller.enqueue(new TextEncoder().encode(next))
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
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
${extra.channel ?? ''}
`
}
