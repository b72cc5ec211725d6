import type { Socket, TCPSocketListener } from 'bun'
import type { JsonBody } from '../../support/duet.ts'
import type { ProtocolName } from '../../support/wire.ts'
import { frames, wholeBody } from './answer.ts'
import { bytesOf, chunked, head, message, type Script, type Step, write } from './script.ts'

/** A request as far as it has come. */
export interface Visit {
  /** Who is asked: the first part of the path. */
  readonly id: string
  readonly protocol: ProtocolName
  /** Undefined while only the head of the request is there. */
  readonly body: JsonBody
}

/** Says what goes wrong. Where nothing does, the upstream answers as it should. */
export interface Director {
  onConnect?(id: string): Script | undefined
  onRequest(visit: Visit): Script | undefined
  /** Resolves when the caller has what it can have of the answer. */
  hasRead(id: string): Promise<unknown>
}

/** Ports that the system does not give to anybody who connects: one that was free a moment ago still is. */
const PORTS = { from: 20_000, to: 32_000 }
const PORT_TRIES_MAX = 100

/**
 * An upstream that speaks both protocols on raw sockets: every byte, every pause and every end is the script's. Addresses
 * are `/<id>/v1/...`; who must be known before a request has come has a port of its own.
 */
export class FaultyUpstream {
  private readonly director: Director
  private readonly connections = new Set<Connection>()
  private readonly shared: TCPSocketListener<Connection>
  private readonly own = new Map<string, TCPSocketListener<Connection>>()

  constructor(director: Director) {
    this.director = director
    this.shared = this.listen(0)
  }

  base(id: string): string {
    return `http://127.0.0.1:${(this.own.get(id) ?? this.shared).port}/${id}/v1`
  }

  openOwnPort(id: string): void {
    for (let tries = 0; ; tries++) {
      const port = PORTS.from + Math.floor(Math.random() * (PORTS.to - PORTS.from))
      try {
        this.own.set(id, this.listen(port, id))
        return
      } catch (error) {
        if (tries === PORT_TRIES_MAX) throw error
      }
    }
  }

  /** Nobody listens there any more; `reopen` takes it back. */
  refuse(id: string): void {
    this.own.get(id)?.stop(true)
  }

  reopen(id: string): void {
    const port = this.own.get(id)?.port
    if (port !== undefined) this.own.set(id, this.listen(port, id))
  }

  /** Connections on which an answer is under way, or was left hanging. */
  get busy(): number {
    return [...this.connections].filter(({ isBusy }) => isBusy).length
  }

  get open(): number {
    return this.connections.size
  }

  /** Ends the connections that wait for a next request. */
  closeIdle(): void {
    for (const connection of this.connections) if (!connection.isBusy) connection.close()
  }

  stop(): void {
    for (const listener of [this.shared, ...this.own.values()]) listener.stop(true)
  }

  private listen(port: number, id?: string): TCPSocketListener<Connection> {
    return Bun.listen<Connection>({
      hostname: '127.0.0.1',
      port,
      socket: {
        open: socket => {
          socket.setNoDelay(true)
          socket.data = new Connection(socket, this.director)
          this.connections.add(socket.data)
          if (id !== undefined) socket.data.connected(id)
        },
        data: (socket, bytes) => socket.data.received(bytes),
        drain: socket => socket.data.drained(),
        close: socket => {
          socket.data.closed()
          this.connections.delete(socket.data)
        },
        // A side that resets is no news here.
        error: () => {},
      },
    })
  }
}

class Connection {
  isBusy = false
  private isClosed = false
  private readonly socket: Socket<Connection>
  private readonly director: Director
  private unread = Buffer.alloc(0)
  private wake: (() => void) | undefined

  constructor(socket: Socket<Connection>, director: Director) {
    this.socket = socket
    this.director = director
  }

  connected(id: string): void {
    const script = this.director.onConnect?.(id)
    if (script) this.perform(script.steps, id)
  }

  received(bytes: Uint8Array): void {
    this.unread = Buffer.concat([this.unread, bytes])
    this.read()
  }

  /** The next request, if it is there and its turn has come. */
  private read(): void {
    const end = this.unread.indexOf('\r\n\r\n')
    if (this.isBusy || end < 0) return
    const lines = this.unread.subarray(0, end).toString()
    const visit = visitOf(lines)
    const early = this.director.onRequest(visit)
    if (early?.begins === 'at the head') {
      this.socket.pause()
      this.perform(early.steps, visit.id)
      return
    }
    const length = Number(/^content-length: *(\d+)$/im.exec(lines)?.[1] ?? 0)
    const body = this.unread.subarray(end + 4, end + 4 + length)
    if (body.byteLength < length) return
    this.unread = this.unread.subarray(end + 4 + length)
    const asked: Visit = { ...visit, body: JSON.parse(body.toString()) }
    this.perform(this.director.onRequest(asked)?.steps ?? healthySteps(asked), asked.id)
  }

  drained(): void {
    this.wake?.()
  }

  closed(): void {
    this.isClosed = true
    this.isBusy = false
    this.wake?.()
  }

  close(): void {
    this.socket.end()
  }

  private async perform(steps: readonly Step[], id: string): Promise<void> {
    this.isBusy = true
    for (const step of steps) {
      if (this.isClosed) return
      await this.take(step, id)
    }
  }

  private async take(step: Step, id: string): Promise<void> {
    switch (step.do) {
      case 'write':
        await this.write(step.bytes)
        // What comes next comes in a packet of its own.
        return nextTurn()
      case 'trickle':
        for (let at = 0; at < step.bytes.byteLength && !this.isClosed; at++) {
          await this.write(step.bytes.subarray(at, at + 1))
          await nextTurn()
        }
        return
      case 'repeat':
        while (!this.isClosed) {
          await this.write(step.bytes)
          await Bun.sleep(step.pauseMs)
        }
        return
      case 'pause':
        return Bun.sleep(step.ms)
      case 'wait for the caller':
        await this.director.hasRead(id)
        return
      case 'reset':
        this.socket.terminate()
        return
      case 'close':
        this.socket.end()
        return
      case 'stall':
        return
      case 'be done':
        this.isBusy = false
        this.read()
        return
    }
  }

  private async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.byteLength && !this.isClosed; ) {
      const written = this.socket.write(bytes.subarray(at))
      if (written < 0) return
      at += written
      if (at < bytes.byteLength) await this.drain()
    }
  }

  private drain(): Promise<void> {
    return new Promise(resolve => {
      this.wake = resolve
    })
  }
}

const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

function visitOf(lines: string): Visit {
  const [, path = ''] = lines.split(' ')
  const [, id = ''] = path.split('/')
  return { id, protocol: path.endsWith('/messages') ? 'messages' : 'chat', body: undefined }
}

/** What is asked for, in full. */
function healthySteps({ protocol, body }: Visit): readonly Step[] {
  if (!body.stream) return message(wholeBody(protocol), { type: 'application/json' })
  const pieces = frames(protocol).map(frame => write(chunked.wrap(bytesOf(frame))))
  return [write(head(chunked, { type: 'text/event-stream' })), ...pieces, ...chunked.end]
}
