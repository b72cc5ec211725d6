import type { Socket } from 'bun'
import { eventually } from '../support/wire.ts'

/** A request that has begun to come. */
export interface Visit {
  /** The first connection is 1. */
  readonly connection: number
  readonly path: string
  /** Takes all of it, however slowly it is read. */
  write(bytes: string | Uint8Array): void
}

/** An upstream that says nothing by itself: answers are given by whoever looks at the visits. */
export interface VisitedUpstream {
  readonly url: string
  readonly visits: readonly Visit[]
  readonly connections: () => number
  /** Those that are there now. */
  readonly open: () => number
  /** Bytes that were written, as far as somebody has taken them. */
  readonly taken: () => number
  /** The visit of this number, when it has come. */
  visited(number: number): Promise<Visit>
  stop(): void
}

export interface Manners {
  /** For those who answer at once. */
  readonly visit?: (visit: Visit) => void
  /** Does not read on while it thinks; false for ever. */
  readonly readsOnAfterMs?: number | false
  /** Of bodies, as they come. */
  readonly hears?: (bytes: Buffer, visit: Visit) => void
}

interface State {
  readonly connection: number
  unsent: Buffer
  visit: Visit | undefined
}

export function visitedUpstream({ visit: visited = () => {}, readsOnAfterMs, hears }: Manners = {}): VisitedUpstream {
  const visits: Visit[] = []
  let connections = 0
  let open = 0
  let taken = 0
  const pour = (socket: Socket<State>): void => {
    const written = Math.max(0, socket.write(socket.data.unsent))
    taken += written
    socket.data.unsent = socket.data.unsent.subarray(written)
  }
  const begin = (socket: Socket<State>, bytes: Buffer): void => {
    const [, path = ''] = /^POST (\S+) /.exec(bytes.toString('latin1', 0, 100)) ?? []
    const visit: Visit = {
      connection: socket.data.connection,
      path,
      write(more) {
        socket.data.unsent = Buffer.concat([socket.data.unsent, Buffer.from(more)])
        pour(socket)
      },
    }
    socket.data.visit = visit
    visits.push(visit)
    visited(visit)
  }
  const listener = Bun.listen<State>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = { connection: ++connections, unsent: Buffer.alloc(0), visit: undefined }
        open++
      },
      data(socket, bytes) {
        if (readsOnAfterMs !== undefined) socket.pause()
        if (readsOnAfterMs) setTimeout(() => socket.resume(), readsOnAfterMs)
        if (bytes.indexOf('POST ') === 0) begin(socket, bytes)
        if (socket.data.visit) hears?.(bytes, socket.data.visit)
      },
      drain: pour,
      close: () => void open--,
      error() {},
    },
  })
  return {
    url: `http://127.0.0.1:${listener.port}/`,
    visits,
    connections: () => connections,
    open: () => open,
    taken: () => taken,
    async visited(number) {
      await eventually(
        () => visits.length,
        count => count >= number,
      )
      return visits[number - 1] as Visit
    },
    stop: () => listener.stop(true),
  }
}
