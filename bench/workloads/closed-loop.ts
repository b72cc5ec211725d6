import { startLoad } from '../machine/load.ts'
import { type Observation, observe } from '../machine/observe.ts'
import { failIfSaturated } from '../saturation.ts'
import { type Bout, type Column, type Figures, Unreported } from './workload.ts'

export interface ClosedLoop {
  readonly mode: 'plain' | 'stream'
  readonly connections: number
  /** Of a stream. */
  readonly frames?: number
}

const WARM_UP_SECONDS = 0.5

/** What is told of whole answers. */
export const REQUEST_COLUMNS: readonly Column[] = [
  { figure: 'rate', heading: 'requests/s' },
  { figure: 'cpuMicroseconds', heading: 'CPU µs a request', digits: 1 },
  { figure: 'databaseMicroseconds', heading: 'of the database', digits: 1 },
  { figure: 'p99Milliseconds', heading: 'p99 ms', digits: 2 },
]

/** As many requests as are answered, each connection sending the next one as soon as it has an answer. */
export async function closedLoop(bout: Bout, { mode, connections, frames }: ClosedLoop): Promise<Figures> {
  const { entrant, placement, mock, seconds } = bout
  const gateway = await bout.begin()
  const settings = { connections, seconds, warmup: WARM_UP_SECONDS, ...(frames === undefined ? {} : { frames }) }
  const load = startLoad(mode, gateway.ask(entrant.shape), settings, placement.load)
  const watched = { gateway: gateway.pid, database: gateway.databasePid, load: load.pid, mock: mock.pid }
  const [seen, report] = await Promise.all([
    observe(watched, { afterMs: WARM_UP_SECONDS * 1000, forMs: seconds * 1000 - 100 }),
    load.report,
  ])
  await bout.finish(gateway)
  if (report.errors > 0) throw new Unreported(`${report.errors} requests failed: ${report.firstError}`)
  failIfSaturated(entrant, placement, seen)
  const units = frames === undefined ? report.requests : (report.frames ?? 0)
  const rate = units / report.seconds
  return {
    rate,
    ...cpuPer(rate, seen),
    p50Milliseconds: report.p50 / 1000,
    p99Milliseconds: report.p99 / 1000,
  }
}

/** Nothing where there is no gateway. */
export function cpuPer(rate: number, { cpu, seconds }: Observation): Figures {
  const [gateway, database] = [cpu.get('gateway'), cpu.get('database')].map(
    used => used && (used * 1e6) / (rate * seconds),
  )
  return {
    ...(gateway === undefined ? {} : { cpuMicroseconds: gateway }),
    ...(database === undefined ? {} : { databaseMicroseconds: database }),
  }
}
