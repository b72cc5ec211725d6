import { connect, createServer, type Socket } from 'node:net'

/** A wire between a client and Duet that counts the requests that go over it, retries included. */
export interface Wire {
  /** What to give a client in place of Duet's own address. */
  readonly base: string
  readonly attempts: () => number
  close(): void
}

/** A body need not end with a line break, so the next request may begin anywhere. */
const REQUEST_LINE = /(?:GET|POST) \S+ HTTP\/1\.1\r\n/g

export async function tapWire(url: string): Promise<Wire> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let sent = ''
  const server = createServer(socket => {
    const onward = connect(Number(port), hostname)
    for (const end of [socket, onward]) {
      sockets.add(end)
      end.on('error', () => end.destroy())
    }
    socket.on('data', data => {
      sent += data
    })
    socket.pipe(onward).pipe(socket)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    base: `http://127.0.0.1:${address.port}/v1`,
    attempts: () => sent.match(REQUEST_LINE)?.length ?? 0,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
