import type { Shape } from '../requests.ts'
import { closedLoop, REQUEST_COLUMNS } from './closed-loop.ts'
import type { Workload } from './workload.ts'

const KILOBYTE = 1_000

/** What coding agents send: the whole conversation, each time again. */
function prompts(kilobytes: number): Workload {
  const shape: Shape = { protocol: 'chat', behaviour: 'whole-1000', bytes: kilobytes * KILOBYTE }
  return {
    id: `prompt-${kilobytes}k`,
    title: `Prompts of ${kilobytes} KB`,
    about: `${kilobytes} KB in, 1 KB out, 32 connections, passed through: a conversation with tools, as coding agents send it. It is the same each time, as their next turn nearly is; \`new\` is another one each time.`,
    columns: REQUEST_COLUMNS,
    ratios: 'rate',
    entrants: [
      { contestant: 'direct', shape },
      { contestant: 'nginx', shape },
      { contestant: 'bare', shape },
      { contestant: 'duet', shape },
      { contestant: 'duet', shape: { ...shape, isNew: true }, how: ' new' },
      { contestant: 'portkey', shape },
    ],
    isShared: true,
    measure: bout => closedLoop(bout, { mode: 'plain', connections: 32 }),
  }
}

export const PROMPTS: readonly Workload[] = [prompts(32), prompts(200)]
