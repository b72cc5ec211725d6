import type { Socket } from 'bun'

/** A proxy as a company has one: for plain calls, and for tunnels. */
export interface CompanyProxy {
  readonly url: string
  /** The hosts it was asked for, in order: `connect …` where that was a tunnel. */
  readonly asked: string[]
  /** Everything that passed through it towards upstreams, tunnels included. */
  readonly heard: () => string
  stop(): void
}

interface State {
  /** What has come and cannot go on yet. */
  waiting: Buffer[]
  upstream: Socket<Socket<State>> | undefined
}

interface Wanted {
  readonly host: string
  readonly isTunnel: boolean
  readonly bytes: Buffer
}

const WANTED = /^(CONNECT |POST http:\/\/)([^/ ]+)/

/** Names that lead to ports of this machine; nobody else knows them. A host that leads nowhere is never answered. */
export function startProxy(ports: Readonly<Record<string, number | undefined>>): CompanyProxy {
  const asked: string[] = []
  let heard = ''
  const listener = Bun.listen<State>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = { waiting: [], upstream: undefined }
      },
      data(socket, bytes) {
        heard += bytes.toString('latin1')
        const wanted = WANTED.exec(bytes.toString('latin1'))
        if (wanted) begin(socket, { host: wanted[2] ?? '', isTunnel: wanted[1] === 'CONNECT ', bytes })
        else if (socket.data.upstream) socket.data.upstream.write(bytes)
        else socket.data.waiting.push(bytes)
      },
      close: socket => void socket.data.upstream?.end(),
      error() {},
    },
  })

  /** One connection may carry requests for one host after the other. */
  function begin(client: Socket<State>, { host, isTunnel, bytes }: Wanted): void {
    asked.push(isTunnel ? `connect ${host}` : host)
    client.data.upstream = undefined
    client.data.waiting = isTunnel ? [] : [withoutHost(bytes)]
    const port = ports[host.replace(/:\d+$/, '')]
    if (port === undefined) return
    Bun.connect<Socket<State>>({
      hostname: '127.0.0.1',
      port,
      data: client,
      socket: {
        open(upstream) {
          client.data.upstream = upstream
          if (isTunnel) client.write('HTTP/1.1 200 Connection established\r\n\r\n')
          for (const piece of client.data.waiting) upstream.write(piece)
        },
        data: (upstream, answer) => void upstream.data.write(answer),
        close(upstream) {
          if (client.data.upstream === upstream) client.end()
        },
        error() {},
      },
    }).catch(() => client.end())
  }

  return { url: `http://127.0.0.1:${listener.port}`, asked, heard: () => heard, stop: () => listener.stop(true) }
}

/** An upstream is asked for a path, and not for an address. */
const withoutHost = (bytes: Buffer): Buffer =>
  Buffer.from(bytes.toString('latin1').replace(/http:\/\/[^/ ]+/, ''), 'latin1')
