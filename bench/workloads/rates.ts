import { startLoad } from '../machine/load.ts'
import { observe } from '../machine/observe.ts'
import type { Shape } from '../requests.ts'
import { failIfSaturated } from '../saturation.ts'
import { type Bout, type Figures, Unreported, type Workload } from './workload.ts'

const SMALL: Shape = { protocol: 'chat', behaviour: 'whole-1000', bytes: 1_000 }
const RATES = [100, 1_000, 3_000]
const CONNECTIONS = 64
const WARM_UP_SECONDS = 0.5

function fixedRate(rate: number): Workload {
  return {
    id: `rate-${rate}`,
    title: `${rate.toLocaleString('en')} requests a second`,
    about:
      'Small chat at a fixed rate, whether answers come or not; a request waits from when it was due. Added: over direct in the same round.',
    columns: [
      { figure: 'p50Milliseconds', heading: 'added p50 ms', digits: 2, isOverDirect: true },
      { figure: 'p99Milliseconds', heading: 'added p99 ms', digits: 2, isOverDirect: true },
      { figure: 'p99Milliseconds', heading: 'p99 ms', digits: 2 },
      { figure: 'rate', heading: 'answers/s' },
    ],
    entrants: (['direct', 'nginx', 'bare', 'duet', 'portkey'] as const).map(contestant => ({
      contestant,
      shape: SMALL,
    })),
    isShared: true,
    measure: bout => measure(bout, rate),
  }
}

async function measure(bout: Bout, rate: number): Promise<Figures> {
  const { entrant, placement, mock, seconds } = bout
  const gateway = await bout.begin()
  const settings = { connections: CONNECTIONS, rate, seconds, warmup: WARM_UP_SECONDS }
  const load = startLoad('rate', gateway.ask(entrant.shape), settings, placement.load)
  const [seen, report] = await Promise.all([
    observe({ load: load.pid, mock: mock.pid }, { afterMs: WARM_UP_SECONDS * 1000, forMs: seconds * 1000 - 100 }),
    load.report,
  ])
  await bout.finish(gateway)
  if (report.errors > 0) throw new Unreported(`${report.errors} requests failed: ${report.firstError}`)
  failIfSaturated(entrant, placement, seen)
  return {
    rate: report.requests / report.seconds,
    p50Milliseconds: report.p50 / 1000,
    p99Milliseconds: report.p99 / 1000,
  }
}

export const FIXED_RATES: readonly Workload[] = RATES.map(fixedRate)
