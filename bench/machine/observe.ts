import { cpuSeconds, residentBytes } from './processes.ts'

export interface Observation {
  readonly seconds: number
  /** Processor time within that, by the names of the processes. */
  readonly cpu: ReadonlyMap<string, number>
}

/** Who is looked at, by name: `{ gateway: 4711 }`. */
export type Watched = Readonly<Record<string, number | undefined>>

/** From now. */
export interface Span {
  readonly afterMs: number
  readonly forMs: number
}

/** Looks at processes when a measurement begins and when it ends. */
export async function observe(watched: Watched, { afterMs, forMs }: Span): Promise<Observation> {
  await Bun.sleep(afterMs)
  const [began, before] = [performance.now(), look(watched)]
  await Bun.sleep(forMs)
  const [ended, after] = [performance.now(), look(watched)]
  const cpu = new Map([...before].map(([name, seconds]) => [name, (after.get(name) ?? seconds) - seconds]))
  return { seconds: (ended - began) / 1000, cpu }
}

function look(watched: Watched): Map<string, number> {
  const pids = Object.entries(watched).flatMap(([name, pid]) => (pid === undefined ? [] : [[name, pid] as const]))
  return new Map(pids.map(([name, pid]) => [name, cpuSeconds(pid)]))
}

const SAMPLE_MS = 100

/** The most memory that a process was seen to have in that time. */
export async function mostMemory(pid: number, { afterMs, forMs }: Span): Promise<number> {
  await Bun.sleep(afterMs)
  let most = 0
  for (const end = performance.now() + forMs; performance.now() < end; await Bun.sleep(SAMPLE_MS)) {
    most = Math.max(most, residentBytes(pid))
  }
  return most
}
