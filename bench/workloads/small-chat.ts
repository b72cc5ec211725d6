import type { Shape } from '../requests.ts'
import { closedLoop, REQUEST_COLUMNS } from './closed-loop.ts'
import type { Workload } from './workload.ts'

const SMALL: Shape = { protocol: 'chat', behaviour: 'whole-1000', bytes: 1_000 }
const TRANSLATED: Shape = { ...SMALL, protocol: 'messages' }

export const smallChat: Workload = {
  id: 'chat',
  title: 'Small chat',
  about: '1 KB in, 1 KB out, 32 connections. Translated: the caller speaks messages, the upstream chat.',
  columns: REQUEST_COLUMNS,
  ratios: 'rate',
  entrants: [
    { contestant: 'direct', shape: SMALL },
    { contestant: 'nginx', shape: SMALL },
    { contestant: 'bare', shape: SMALL },
    { contestant: 'duet', shape: SMALL },
    { contestant: 'duet', shape: TRANSLATED, how: ' translated' },
    { contestant: 'portkey', shape: SMALL },
  ],
  isShared: true,
  isAlsoUnpinned: true,
  measure: bout => closedLoop(bout, { mode: 'plain', connections: 32 }),
}
