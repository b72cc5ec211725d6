import { framesWith } from '../faults/said.ts'
import { KEY } from '../support/duet.ts'
import { user } from '../support/http.ts'
import { PATHS, PROTOCOLS, type ProtocolName } from '../support/wire.ts'
import { RawConnection } from './raw.ts'

/** Upstreams that say more, and faster, than anybody reads; and those who do not read it. */

export const torrentConfig = (base: string): string => `
models:${PROTOCOLS.map(name => `\n  - { id: acme/${name}, price: { input: 0.001, output: 0.001 } }`).join('')}
channels:${PROTOCOLS.map(
  name => `\n  - { name: acme-${name}, protocol: ${name}, base_url: ${base}, models: [acme/${name}] }`,
).join('')}
`

/** An answer as fast as it is read, in frames of a few kilobytes; counts what it got rid of. */
export function torrent(protocol: ProtocolName, bytes: number, sent = { bytes: 0 }): Response {
  const word = `${'x'.repeat(8_000)} `
  const frames = framesWith(protocol, [word])
  const place = frames.findIndex(frame => frame.includes(word))
  const utf8 = new TextEncoder()
  const [first, each, last] = [frames.slice(0, place), frames.slice(place, place + 1), frames.slice(place + 1)].map(
    part => utf8.encode(part.join('')),
  ) as [Uint8Array, Uint8Array, Uint8Array]
  const stream = new ReadableStream<Uint8Array>({
    start: controller => controller.enqueue(first),
    pull(controller) {
      sent.bytes += each.byteLength
      controller.enqueue(each)
      if (sent.bytes < bytes) return
      controller.enqueue(last)
      controller.close()
    },
  })
  return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
}

interface Asked {
  readonly client: ProtocolName
  readonly upstream: ProtocolName
  readonly content: string
}

export const askFor = ({ upstream, content }: Omit<Asked, 'client'>) =>
  JSON.stringify({ model: `acme/${upstream}`, max_tokens: 1_000_000, stream: true, messages: user(content) })

/** Somebody who asks, and reads nothing until told to. */
export async function beginTorrent(url: string, { client, ...asked }: Asked): Promise<RawConnection> {
  const connection = await RawConnection.open(url)
  const body = askFor(asked)
  const credential = `authorization: Bearer ${KEY}`
  connection.stopReading()
  connection.send(
    `POST ${PATHS[client]} HTTP/1.1\r\nhost: x\r\n${credential}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  return connection
}
