import { percentile } from '../src/core/percentile.ts'

/** Milliseconds until an answer, and answers a second. */
export interface Load {
  readonly p50: number
  readonly p99: number
  readonly rate: number
}

const [url = '', callers = '1', seconds = '1'] = process.argv.slice(2)
const port = Number(new URL(url).port)
const request = await Bun.stdin.text()
const latencies: number[] = []
const begun = performance.now()
const end = begun + Number(seconds) * 1000

await Promise.all(Array.from({ length: Number(callers) }, askOnAndOn))
const load: Load = {
  p50: percentile(latencies, 50) ?? 0,
  p99: percentile(latencies, 99) ?? 0,
  rate: latencies.length / ((performance.now() - begun) / 1000),
}
process.stdout.write(JSON.stringify(load))

/** On one connection, again as soon as it is answered: an answer is small enough to come in one piece. */
function askOnAndOn(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let asked = 0
  const ask = (socket: Bun.Socket) => {
    asked = performance.now()
    socket.write(request)
  }
  const data = (socket: Bun.Socket) => {
    const now = performance.now()
    latencies.push(now - asked)
    if (now < end) return ask(socket)
    socket.end()
    resolve()
  }
  Bun.connect({ hostname: '127.0.0.1', port, socket: { open: ask, data, close: () => resolve() } })
  return promise
}
