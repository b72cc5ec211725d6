import { adopt } from './children.ts'
import type { Cores } from './cores.ts'
import { native } from './native.ts'

export interface Mock {
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
}

export const startMock = (cores: Cores): Promise<Mock> => startUpstream([...cores, native('mock'), '--port', '0'])

/** A program that says `listening <port>` when it does. */
export async function startUpstream(command: readonly string[]): Promise<Mock> {
  const child = adopt(Bun.spawn([...command], { stdio: ['ignore', 'pipe', 'inherit'] }))
  const port = await portOf(child.stdout)
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid,
    async stop() {
      child.kill()
      await child.exited
    },
  }
}

async function portOf(output: ReadableStream<Uint8Array>): Promise<number> {
  let printed = ''
  for await (const piece of output) {
    printed += new TextDecoder().decode(piece)
    const port = /^listening (\d+)\n/.exec(printed)?.[1]
    if (port) return Number(port)
  }
  throw new Error(`The mock upstream did not start: ${printed}`)
}
