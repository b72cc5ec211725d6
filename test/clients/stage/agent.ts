import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

/** A coding agent: a program that gets one task and prints what it did. */
export interface Agent {
  readonly name: string
  /** In `node_modules/.bin`. */
  readonly program: string
  command(task: Task): Command
  /** What it said in the end, from what it printed. */
  answer(printed: string): string
}

export interface Task {
  /** Duet's address, without `/v1`. */
  readonly url: string
  readonly key: string
  readonly model: string
  readonly prompt: string
}

export interface Command {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export interface Ran {
  /** Null where it had to be ended. */
  readonly code: number | null
  readonly printed: string
  readonly errors: string
}

const PROGRAMS = join(import.meta.dirname, '../node_modules/.bin')

/** Who is still at it by then waits for something that will not come, or tries for ever. */
const RUN_MS_MAX = 60_000

export interface Place {
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
}

export async function runAgent({ program, command }: Agent, task: Task, { folder, env }: Place): Promise<Ran> {
  const { args, env: own } = command(task)
  const child = spawn(join(PROGRAMS, program), args, {
    cwd: folder,
    env: { ...env, ...own },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), RUN_MS_MAX)
  const [[code], printed, errors] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  clearTimeout(timer)
  return { code, printed, errors }
}
