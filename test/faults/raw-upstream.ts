import type { Socket } from 'bun'

/** A connection as a script of the upstream sees it. */
export interface Line {
  write(bytes: string | Uint8Array): void
  /** Again and again, as long as somebody is there. */
  repeat(bytes: string | Uint8Array, everyMs: number): void
  /** As fast as it is taken. */
  flood(bytes: Uint8Array): void
  close(): void
  /** Says that nothing more will come. It is open until the other side has heard of it, and has closed it. */
  sayGoodbye(): void
  reset(): void
  /** How many requests have come on it, this one included. */
  readonly turn: number
}

export interface RawUpstream {
  readonly port: number
  readonly url: string
  /** Requests that came whole. */
  readonly requests: () => number
  readonly connections: () => number
  /** Those that are there now. */
  readonly open: () => number
  stop(): void
}

interface State {
  received: string
  turn: number
  /** Said, and not yet taken. */
  waiting: Uint8Array
  endless: Uint8Array | undefined
  timer: ReturnType<typeof setInterval> | undefined
}

/** Stands at the end of every request that is sent here, so that nobody has to count bytes. */
export const LAST_WORD = '"That is all."'

/** An upstream that speaks TCP and knows nothing of HTTP: what it says is what a test has written. */
export function rawUpstream(answer: (line: Line) => void): RawUpstream {
  let requests = 0
  let connections = 0
  let open = 0
  const listener = Bun.listen<State>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        connections++
        open++
        socket.data = { received: '', turn: 0, waiting: new Uint8Array(), endless: undefined, timer: undefined }
      },
      data(socket, bytes) {
        const state = socket.data
        state.received += bytes.toString()
        if (!state.received.includes(LAST_WORD)) return
        state.received = ''
        state.turn++
        requests++
        answer(lineOf(socket))
      },
      drain: pour,
      close(socket) {
        open--
        clearInterval(socket.data.timer)
      },
      error() {},
    },
  })
  return {
    port: listener.port,
    url: `http://127.0.0.1:${listener.port}/`,
    requests: () => requests,
    connections: () => connections,
    open: () => open,
    stop: () => listener.stop(true),
  }
}

const lineOf = (socket: Socket<State>): Line => ({
  write(bytes) {
    socket.data.waiting = Buffer.concat([socket.data.waiting, Buffer.from(bytes)])
    pour(socket)
  },
  repeat(bytes, everyMs) {
    socket.data.timer = setInterval(() => socket.write(bytes), everyMs)
  },
  flood(bytes) {
    socket.data.endless = bytes
    pour(socket)
  },
  close: () => void socket.end(),
  sayGoodbye: () => void socket.shutdown(),
  reset: () => void socket.terminate(),
  turn: socket.data.turn,
})

function pour(socket: Socket<State>): void {
  const state = socket.data
  state.waiting = state.waiting.subarray(Math.max(0, socket.write(state.waiting)))
  // Where one of these is cut does not matter: all of them are alike.
  while (state.waiting.byteLength === 0 && state.endless && socket.write(state.endless) === state.endless.byteLength);
}

export interface DeafPort {
  readonly url: string
  /** Lets in who waits before the door, and whoever comes. */
  wake(): void
  stop(): void
}

const LISTENING = `
const { port } = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
console.log(port)
`
const KNOCKS_AT_ONCE = 100
/** On the same machine a connection that can be made is made at once. */
const KNOCK_MS_MAX = 300

/**
 * A port at which no connection is made: who listens there has stopped, and the queue before the door is full. A program
 * says what is done there once it wakes; it prints its port first.
 */
export async function deafPort(program = LISTENING): Promise<DeafPort> {
  const child = Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe', stderr: 'ignore' })
  const stop = () => child.kill('SIGKILL')
  // One that has stopped does not notice that nobody needs it any more.
  process.once('exit', stop)
  const { value } = await child.stdout.getReader().read()
  const port = Number(new TextDecoder().decode(value))
  child.kill('SIGSTOP')
  while (await knock(port));
  return { url: `http://127.0.0.1:${port}/`, wake: () => child.kill('SIGCONT'), stop }
}

/** Whether all who came were let into the queue. */
async function knock(port: number): Promise<boolean> {
  let entered = 0
  const socket = { open: () => void entered++, data() {}, error() {} }
  const knocking = Array.from({ length: KNOCKS_AT_ONCE }, () =>
    Bun.connect({ hostname: '127.0.0.1', port, socket }).catch(() => undefined),
  )
  await Promise.race([Promise.all(knocking), Bun.sleep(KNOCK_MS_MAX)])
  return entered === KNOCKS_AT_ONCE
}
