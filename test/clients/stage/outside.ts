import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** Whoever wants to leave this machine has to come through here, is refused, and is remembered. */
export interface Outside {
  readonly env: Readonly<Record<string, string>>
  readonly attempts: string[]
  stop(): void
}

export async function watchOutside(): Promise<Outside> {
  const attempts: string[] = []
  const proxy = createServer((request, response) => {
    attempts.push(`${request.method} ${request.url}`)
    response.writeHead(403).end()
  })
  proxy.on('connect', (request, socket: Socket) => {
    attempts.push(`CONNECT ${request.url}`)
    // A reset by the one who was refused is no fault of ours.
    socket.on('error', () => {})
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  return {
    env: {
      HTTP_PROXY: url,
      HTTPS_PROXY: url,
      http_proxy: url,
      https_proxy: url,
      NO_PROXY: '127.0.0.1',
      no_proxy: '127.0.0.1',
    },
    attempts,
    stop() {
      proxy.close()
      proxy.closeAllConnections()
    },
  }
}
