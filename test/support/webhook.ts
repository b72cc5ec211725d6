import { createHmac } from 'node:crypto'
import type { JsonBody } from './duet.ts'

export interface Delivery {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly text: string
  readonly body: JsonBody
}

/** Somebody else's server that takes webhooks. */
export interface Webhook {
  readonly url: string
  readonly deliveries: Delivery[]
  /** What it answers from now on. */
  answer(respond: () => Response | Promise<Response>): void
  /** Resolves when so many have arrived in all. */
  arrived(count: number): Promise<void>
  stop(): Promise<void>
}

const ARRIVAL_MS_MAX = 15_000

export function startWebhook(): Webhook {
  const deliveries: Delivery[] = []
  let respond: () => Response | Promise<Response> = () => new Response('thanks')
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const text = await request.text()
      const { pathname, search } = new URL(request.url)
      const { method, headers } = request
      deliveries.push({ method, path: pathname + search, headers, text, body: JSON.parse(text) })
      return respond()
    },
  })
  return {
    url: server.url.origin,
    deliveries,
    answer(next) {
      respond = next
    },
    async arrived(count) {
      const deadline = Date.now() + ARRIVAL_MS_MAX
      while (deliveries.length < count) {
        if (Date.now() > deadline) throw new Error(`${deliveries.length} of ${count} deliveries arrived`)
        await Bun.sleep(5)
      }
    },
    stop: () => server.stop(true),
  }
}

/** As its receiver computes it. */
export const signatureOf = (secret: string, text: string): string =>
  `sha256=${createHmac('sha256', secret).update(text).digest('hex')}`
