import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** Stands before a server, and lets in whom PgBouncer would let in, by the words of a client's first message. */
export interface Pooler {
  readonly url: string
  close(): void
}

/** Whether each client has a connection to the server to itself, or all of them one in turn. */
export type Pooling = 'sessions' | 'transactions'

const KNOWN = [
  ...['user', 'database', 'application_name'],
  ...['client_encoding', 'datestyle', 'timezone', 'standard_conforming_strings'],
]
/** A length and a version come before the names and values. */
const WORDS_START = 8
const TERMINATE = 'X'
const AUTHENTICATED_AND_READY = Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1')

/** Whoever comes when there is no more room is not answered. */
export async function startPooler(server: string, pooling: Pooling, room = 100): Promise<Pooler> {
  const { hostname, port } = new URL(server)
  const sockets = new Set<Socket>()
  const kept = (socket: Socket) => {
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)))
    return socket
  }
  const toServer = () => kept(connect(Number(port), hostname))
  const admit = pooling === 'sessions' ? ownLine(toServer) : sharedLine(toServer)
  let clients = 0
  const listening = createServer(client => {
    clients++
    client.on('close', () => clients--)
    kept(client).once('data', data => {
      const first = Buffer.from(data)
      const refused = unknownIn(first)
      if (refused !== undefined) client.end(refusal(`unsupported startup parameter: ${refused}`))
      else if (clients <= room) admit(client, first)
    })
  }).listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const address = listening.address()
  const url = new URL(server)
  if (typeof address === 'object') url.port = String(address?.port)
  return {
    url: url.href,
    close() {
      listening.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

type Admit = (client: Socket, first: Buffer) => void

function ownLine(toServer: () => Socket): Admit {
  return (client, first) => {
    const line = toServer()
    line.write(first)
    client.pipe(line).pipe(client)
  }
}

/** Whoever is first proves to the server who it is; everybody else is believed. Answers go to whoever asked last. */
function sharedLine(toServer: () => Socket): Admit {
  let line: Socket | undefined
  let asking: Socket
  return (client, first) => {
    if (line) client.write(AUTHENTICATED_AND_READY)
    else {
      asking = client
      line = toServer().on('data', answer => asking.write(answer))
      line.write(first)
    }
    client.on('data', question => {
      if (question.toString('latin1', 0, 1) === TERMINATE) return
      asking = client
      line?.write(question)
    })
  }
}

function unknownIn(first: Buffer): string | undefined {
  const words = first.toString('utf8', WORDS_START).split('\0')
  const names = words.filter((word, place) => place % 2 === 0 && word !== '')
  return names.find(name => !KNOWN.includes(name.toLowerCase()))
}

function refusal(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C08P01\0M${message}\0\0`)
  const head = Buffer.from('E\0\0\0\0', 'latin1')
  head.writeUInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
}
