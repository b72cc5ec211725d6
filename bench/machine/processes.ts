import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { adopt } from './children.ts'
import type { Cores } from './cores.ts'

export interface Program {
  readonly command: readonly string[]
  readonly cores: Cores
  readonly folder: string
  readonly env?: Readonly<Record<string, string>>
  /** Gets all that is printed, like the log of a real installation. */
  readonly logFile: string
}

/** A process under observation, with all that it has started. */
export interface Process {
  readonly pid: number
  readonly exited: Promise<number>
  /** Sends SIGTERM, and SIGKILL to whoever does not heed it. */
  stop(): Promise<void>
}

const STOP_MS_MAX = 15_000

/** Nothing of the machine's own environment goes in: a vendor's key in there would make a channel. */
export function start({ command, cores, folder, env, logFile }: Program): Process {
  const log = openSync(logFile, 'a')
  const child = adopt(
    Bun.spawn([...cores, ...command], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', HOME: folder, ...env },
      stdio: ['ignore', log, log],
    }),
  )
  closeSync(log)
  return {
    pid: child.pid,
    exited: child.exited,
    async stop() {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
      await child.exited
      clearTimeout(timer)
    },
  }
}

/** Kernel ticks are hundredths of a second wherever Linux runs. */
const TICKS_PER_SECOND = 100

/** Seconds of processor time that a process and its children have had. */
export function cpuSeconds(pid: number): number {
  const ticks = family(pid).map(one => {
    // The name of the program comes before these fields, in parentheses, and may have spaces.
    const fields = textOf(`/proc/${one}/stat`).split(') ')[1]?.split(' ') ?? []
    const [user, system] = [Number(fields[11] ?? 0), Number(fields[12] ?? 0)]
    return user + system
  })
  return sum(ticks) / TICKS_PER_SECOND
}

/** Bytes of memory that a process and its children have. */
export function residentBytes(pid: number): number {
  const kilobytes = family(pid).map(one => Number(/^VmRSS:\s+(\d+) kB$/m.exec(textOf(`/proc/${one}/status`))?.[1] ?? 0))
  return sum(kilobytes) * 1024
}

/** A process and all below it. Children are told by thread: whichever has started them. */
export function family(pid: number): number[] {
  const children = threadsOf(pid).flatMap(thread =>
    textOf(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children.flatMap(family)]
}

/** Databases start processes for a moment: who has ended while it was looked at has nothing. */
const threadsOf = (pid: number): string[] => orNone(() => readdirSync(`/proc/${pid}/task`)) ?? []
const textOf = (file: string): string => orNone(() => readFileSync(file, 'utf8')) ?? ''

function orNone<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
