import { existsSync, readdirSync } from 'node:fs'
import type { Duet } from '../../support/duet.ts'

/** What a running Duet has of the machine. */
export interface Footprint {
  /** Open files and connections; none where the system does not tell. */
  readonly files: number
  readonly residentBytes: number
}

export async function footprintOf({ pid, url }: Pick<Duet, 'pid' | 'url'>): Promise<Footprint> {
  const metrics = await (await fetch(`${url}/metrics`, { keepalive: false })).text()
  const folder = `/proc/${pid}/fd`
  return {
    files: existsSync(folder) ? readdirSync(folder).length : 0,
    residentBytes: Number(/^process_resident_memory_bytes (\S+)$/m.exec(metrics)?.[1]),
  }
}
