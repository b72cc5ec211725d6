import type { Process } from '../machine/processes.ts'
import type { Ask } from '../requests.ts'

const READY_MS_MAX = 30_000
/** Asked this often: what a start takes is known to that. */
const PAUSE_MS = 1

/** A port that is free now. Nobody else starts servers here meanwhile. */
export function freePort(): number {
  const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => {} } })
  server.stop(true)
  return server.port
}

/** Returns with the first whole answer of 200. */
export async function firstAnswer(process: Process, { url, headers, body }: Ask, logFile: string): Promise<void> {
  const deadline = performance.now() + READY_MS_MAX
  let last = ''
  let code: number | undefined
  process.exited.then(exited => {
    code = exited
  })
  while (performance.now() < deadline && code === undefined) {
    try {
      const response = await fetch(url, { method: 'POST', headers, body, keepalive: false })
      last = `${response.status} ${await response.text()}`
      if (response.status === 200) return
    } catch (error) {
      last = String(error)
    }
    await Bun.sleep(PAUSE_MS)
  }
  const ending = code === undefined ? `no answer in ${READY_MS_MAX / 1000} s` : `ended with ${code}`
  throw new Error(`${url}: ${ending}; last: ${last}\n${await Bun.file(logFile).text()}`)
}
