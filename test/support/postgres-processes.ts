import { randomInt } from 'node:crypto'
import { closeSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Account } from './postgres-programs.ts'

export interface ServerOptions {
  /** The file `postgres`. */
  readonly program: string
  /** Has the database in `data`. */
  readonly folder: string
  readonly account: Account
  readonly settings: Readonly<Record<string, string>>
}

const START_MS_MAX = 30_000
const START_ATTEMPTS_MAX = 3

/** Below those that the system gives to whoever asks for any, so that a server finds its port again after a restart. */
const PORTS = { from: 15_000, to: 30_000 } as const

/** The processes of a PostgreSQL server: the first one, and its children. */
export class PostgresProcesses {
  readonly port: number
  readonly #options: ServerOptions
  #first: Bun.Subprocess | undefined
  #isFrozen = false

  private constructor(options: ServerOptions, port: number) {
    this.#options = options
    this.port = port
  }

  /** Somebody else may take a port just after it was found to be free. */
  static async start(options: ServerOptions): Promise<PostgresProcesses> {
    for (let attempt = 1; ; attempt += 1) {
      const server = new PostgresProcesses(options, freePort())
      try {
        await server.launch()
        return server
      } catch (error) {
        if (attempt === START_ATTEMPTS_MAX) throw error
      }
    }
  }

  get pid(): number {
    return this.#running().pid
  }

  log(): string {
    return readFileSync(this.#logFile, 'utf8')
  }

  /** On the port it had before. */
  async launch(): Promise<void> {
    const { program, folder, account, settings } = this.#options
    const all = Object.entries({ ...settings, port: String(this.port) })
    const command = [program, '-D', join(folder, 'data'), ...all.flatMap(([name, value]) => ['-c', `${name}=${value}`])]
    const log = openSync(this.#logFile, 'a')
    const first = Bun.spawn(command, { ...account, cwd: folder, env: {}, stdout: log, stderr: log })
    closeSync(log)
    await this.#ready(first)
    this.#first = first
  }

  freeze(): void {
    // The first process first: from then on there are no new ones.
    signal(this.pid, 'SIGSTOP')
    while (isRunning(this.pid) && stateOf(this.pid) !== 'T') Bun.sleepSync(1)
    for (const child of childrenOf(this.pid)) signal(child, 'SIGSTOP')
    this.#isFrozen = true
  }

  thaw(): void {
    if (!this.#isFrozen) return
    for (const child of childrenOf(this.pid)) signal(child, 'SIGCONT')
    signal(this.pid, 'SIGCONT')
    this.#isFrozen = false
  }

  /** Returns at once if it does not run. */
  async end(how: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    if (!this.#first) return
    this.thaw()
    signal(this.pid, how)
    await this.#first.exited
    this.#first = undefined
  }

  /** All processes, without a word to any. */
  async kill(): Promise<void> {
    const first = this.#running()
    this.freeze()
    const children = childrenOf(first.pid)
    for (const pid of [first.pid, ...children]) signal(pid, 'SIGKILL')
    await first.exited
    while (children.some(isRunning)) await Bun.sleep(5)
    this.#first = undefined
    this.#isFrozen = false
    // Its number may soon be that of another process, which nobody shall end in its place.
    rmSync(this.#pidFile)
  }

  async #ready(first: Bun.Subprocess): Promise<void> {
    const deadline = Date.now() + START_MS_MAX
    while (!isReady(this.#pidFile, first.pid)) {
      if (first.exitCode !== null || Date.now() > deadline) {
        first.kill('SIGQUIT')
        await first.exited
        throw new Error(`PostgreSQL did not start:\n${this.log()}`)
      }
      await Bun.sleep(10)
    }
  }

  #running(): Bun.Subprocess {
    if (!this.#first) throw new Error('this PostgreSQL server does not run')
    return this.#first
  }

  get #logFile(): string {
    return join(this.#options.folder, 'log')
  }

  get #pidFile(): string {
    return join(this.#options.folder, 'data/postmaster.pid')
  }
}

/** The eighth line of the server's own file says whether it lets anybody in. */
function isReady(pidFile: string, pid: number): boolean {
  const lines = (textOf(pidFile) ?? '').split('\n')
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
}

function freePort(): number {
  for (;;) {
    const port = randomInt(PORTS.from, PORTS.to)
    try {
      Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true)
      return port
    } catch {}
  }
}

function childrenOf(pid: number): number[] {
  const processes = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  return processes.map(Number).filter(each => statOf(each)[1] === String(pid))
}

/** Running, sleeping, stopped…, a letter each. */
const stateOf = (pid: number): string | undefined => statOf(pid)[0]

/** Who has ended stays in the list until somebody asks about it, which is nobody here. */
const isRunning = (pid: number): boolean => !['Z', undefined].includes(stateOf(pid))

/** State, parent and more. They come after the name in parentheses, which may have anything in it. */
function statOf(pid: number): string[] {
  const text = textOf(`/proc/${pid}/stat`)
  return text === undefined ? [] : text.slice(text.lastIndexOf(')') + 2).split(' ')
}

/** Whoever has ended in the meantime needs no signal. */
function signal(pid: number, what: NodeJS.Signals): void {
  try {
    process.kill(pid, what)
  } catch {}
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
