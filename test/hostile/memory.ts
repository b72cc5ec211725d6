import { readFileSync } from 'node:fs'
import type { Duet } from '../support/duet.ts'

/** What the process takes, in bytes; undefined where the system does not tell. */
export function memoryOf({ pid }: Pick<Duet, 'pid'>): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024
  } catch {
    return undefined
  }
}
