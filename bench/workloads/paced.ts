import { startLoad } from '../machine/load.ts'
import { mostMemory, observe } from '../machine/observe.ts'
import { residentBytes } from '../machine/processes.ts'
import { openFilesMax } from '../machine/requirements.ts'
import type { Shape } from '../requests.ts'
import { failIfSaturated } from '../saturation.ts'
import { cpuPer } from './closed-loop.ts'
import { type Bout, type Figures, Unreported, type Workload } from './workload.ts'

/** So many streams, and a frame of each so often. */
interface Pace {
  readonly streams: number
  readonly everyMs: number
}

const PACES: readonly Pace[] = [
  { streams: 2_000, everyMs: 100 },
  { streams: 5_000, everyMs: 100 },
  { streams: 10_000, everyMs: 1_000 },
]
/** Longer than a measurement takes: nobody ends meanwhile, so what is offered is known. */
const STREAM_SECONDS = 60
const RAMP_SECONDS = 4
const SETTLE_SECONDS = 1
const MEASURE_SECONDS = 5
const QUICK_SHARE = 0.1
const KILOBYTE = 1024

/** A stream through a gateway is two sockets there; the rest is for its files. */
const FILES_BESIDE_SOCKETS = 200
const STREAMS_MAX = Math.floor((openFilesMax() - FILES_BESIDE_SOCKETS) / 2)

function paced({ streams: wanted, everyMs }: Pace): Workload {
  const streams = Math.min(wanted, STREAMS_MAX)
  const frames = (STREAM_SECONDS * 1000) / everyMs
  const relayed: Shape = { protocol: 'chat', behaviour: `paced-${frames}-${everyMs}`, bytes: 1_000 }
  const fewer =
    streams < wanted ? ` (${wanted} would need ${2 * wanted} sockets; a process may have ${openFilesMax()} here.)` : ''
  return {
    id: `paced-${wanted}`,
    title: `${streams.toLocaleString('en')} streams at once, a frame every ${everyMs} ms`,
    about: `Duet translates, the others relay; a new process each time.${fewer} Added: over direct in the same round. Memory: the most that was seen with all streams open, less what it had when idle, per stream.`,
    columns: [
      { figure: 'delivered', heading: 'of the frames offered', digits: 3 },
      { figure: 'lost', heading: 'lost' },
      { figure: 'p99Milliseconds', heading: 'added p99 ms', digits: 1, isOverDirect: true },
      { figure: 'cpuMicroseconds', heading: 'CPU µs a frame', digits: 1 },
      { figure: 'kilobytes', heading: 'KB a stream', digits: 1 },
    ],
    entrants: [
      { contestant: 'direct', shape: relayed },
      { contestant: 'nginx', shape: relayed },
      { contestant: 'bare', shape: relayed },
      { contestant: 'duet', shape: { ...relayed, protocol: 'messages' }, how: ' translated' },
    ],
    isShared: false,
    measure: bout => measure(bout, { streams: bout.isQuick ? streams * QUICK_SHARE : streams, everyMs }),
  }
}

async function measure(bout: Bout, { streams, everyMs }: Pace): Promise<Figures> {
  const { entrant, placement, mock } = bout
  const gateway = await bout.begin()
  const idle = gateway.pid === undefined ? 0 : residentBytes(gateway.pid)
  const frames = (STREAM_SECONDS * 1000) / everyMs
  const settings = {
    streams,
    frames,
    every: everyMs,
    ramp: RAMP_SECONDS,
    warmup: SETTLE_SECONDS,
    seconds: MEASURE_SECONDS,
  }
  const load = startLoad('paced', gateway.ask(entrant.shape), settings, placement.load)
  const watched = { gateway: gateway.pid, load: load.pid, mock: mock.pid }
  const times = { afterMs: (RAMP_SECONDS + SETTLE_SECONDS) * 1000, forMs: MEASURE_SECONDS * 1000 - 100 }
  const memory = gateway.pid === undefined ? undefined : mostMemory(gateway.pid, times)
  const [seen, report, most] = await Promise.all([observe(watched, times), load.report, memory])
  await bout.finish(gateway)
  const { frames: received = 0, expectedFrames = 0, lost = 0, open = 0, delay } = report
  if (report.errors > 0) throw new Unreported(`${report.errors} streams failed: ${report.firstError}`)
  if (open < streams) throw new Unreported(`${open} of ${streams} streams were open`)
  failIfSaturated(entrant, placement, seen)
  return {
    delivered: received / expectedFrames,
    lost,
    p99Milliseconds: (delay?.p99 ?? Number.NaN) / 1000,
    ...cpuPer(received / report.seconds, seen),
    ...(most === undefined ? {} : { kilobytes: (most - idle) / streams / KILOBYTE }),
  }
}

export const PACED_STREAMS: readonly Workload[] = PACES.map(paced)
