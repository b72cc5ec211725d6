import type { Shape } from '../requests.ts'
import { closedLoop } from './closed-loop.ts'
import type { Workload } from './workload.ts'

const FRAMES = 300
const BURST: Shape = { protocol: 'chat', behaviour: `burst-${FRAMES}`, bytes: 1_000 }
const TRANSLATED: Shape = { ...BURST, protocol: 'messages' }

export const bursts: Workload = {
  id: 'stream',
  title: 'Streams in a burst',
  about: `Answers of ${FRAMES} frames that the upstream writes at once, 32 connections; every frame is checked. Translated: the caller speaks messages, the upstream chat.`,
  columns: [
    { figure: 'rate', heading: 'frames/s' },
    { figure: 'cpuMicroseconds', heading: 'CPU µs a frame', digits: 2 },
    { figure: 'databaseMicroseconds', heading: 'of the database', digits: 2 },
    { figure: 'p99Milliseconds', heading: 'p99 ms of a stream', digits: 1 },
  ],
  ratios: 'rate',
  entrants: [
    { contestant: 'direct', shape: BURST },
    { contestant: 'nginx', shape: BURST },
    { contestant: 'bare', shape: BURST },
    { contestant: 'duet', shape: BURST },
    { contestant: 'duet', shape: TRANSLATED, how: ' translated' },
    { contestant: 'portkey', shape: BURST },
  ],
  isShared: true,
  isAlsoUnpinned: true,
  measure: bout => closedLoop(bout, { mode: 'stream', connections: 32, frames: FRAMES }),
}
