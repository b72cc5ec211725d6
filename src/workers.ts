import { join } from 'node:path'
import type { Announcement } from './app.ts'
import type { Config } from './config/config.ts'
import { createLog, type Log } from './telemetry/log.ts'
import type { Family } from './telemetry/prometheus.ts'
import { type FromWorker, Questions, type ToWorker } from './worker-talk.ts'
import { linewise } from './writer.ts'

const ENTRY = join(import.meta.dir, 'worker.ts')

/** A worker that dies again and again must not keep the machine busy with starts. */
const PAUSE_MS = { first: 100, most: 10_000 } as const
/** One that has lived for so long did not die of its start. */
const HEALTHY_MS = 60_000

const FIGURES_MS_MAX = 1_000

/**
 * Starts several processes on one port, each a replica of its own, and does no work itself. Resolves when they listen; from
 * then on whoever dies is started again, until a signal ends all of them.
 */
export async function startWorkers(
  config: Config,
  env: NodeJS.ProcessEnv,
  write: (text: string) => void,
): Promise<Announcement> {
  const workers = new Workers(env, createLog(linewise(write), Date.now))
  process.on('SIGHUP', () => workers.tell({ type: 'reload' }))
  process.on('SIGTERM', () => workers.stop())
  process.on('SIGINT', () => workers.stop())
  refuseTakenPort(config)
  return workers.start(config.workers)
}

/** Once they share a port, they would share it with any other program that does so. */
function refuseTakenPort({ host, port }: Config): void {
  if (port === 0) return
  Bun.serve({ hostname: host, port, development: false, reusePort: false, fetch: () => new Response() }).stop(true)
}

interface Worker {
  readonly place: number
  readonly process: Bun.Subprocess
  readonly startedAt: number
  /** Resolves when it listens; rejects if it ends before that. */
  readonly ready: PromiseWithResolvers<Announcement>
}

class Workers {
  private readonly log: Log
  private readonly env: NodeJS.ProcessEnv
  private readonly alive = new Set<Worker>()
  private readonly figures = new Questions<readonly (readonly Family[])[]>()
  /** Of each place, how long to wait before the next start there. */
  private readonly pauses = new Map<number, number>()
  /** Where the first one listens: the others have to find it. */
  private port: string | undefined
  private stops = 0
  private hasFailed = false

  constructor(env: NodeJS.ProcessEnv, log: Log) {
    this.env = env
    this.log = log
  }

  /** The first one alone: it brings the database up to date, and makes the first account and its key. */
  async start(count: number): Promise<Announcement> {
    const first = await this.launch(0).ready.promise
    this.port = new URL(first.url).port
    const others = Array.from({ length: count - 1 }, (_, place) => this.launch(place + 1).ready.promise)
    await Promise.allSettled(others)
    return first
  }

  tell(message: ToWorker): void {
    for (const worker of this.alive) say(worker, message)
  }

  /** They finish what is under way, together; whoever says it again does not want to wait for that. */
  stop(): void {
    this.stops++
    this.tell({ type: this.stops === 1 ? 'stop' : 'hurry' })
    this.endIfDone()
  }

  private launch(place: number): Worker {
    const worker: Worker = {
      place,
      startedAt: performance.now(),
      ready: Promise.withResolvers(),
      process: Bun.spawn([process.execPath, ...process.execArgv, ENTRY], {
        env: this.port === undefined ? this.env : { ...this.env, DUET_PORT: this.port },
        stdio: ['ignore', 'inherit', 'inherit'],
        serialization: 'json',
        ipc: (message: FromWorker) => this.hear(worker, message),
        onExit: (_, code, signal) => this.bury(worker, { code, signal }),
      }),
    }
    // Nobody may wait for it: one that is started again.
    worker.ready.promise.catch(() => {})
    this.alive.add(worker)
    return worker
  }

  private hear(worker: Worker, message: FromWorker): void {
    switch (message.type) {
      case 'started':
        worker.ready.resolve(message.app)
        return
      case 'failed':
        worker.ready.reject(new Error(message.problem))
        return
      case 'figures':
        this.figures.answer(message.id, message.of)
        return
      case 'figures-wanted':
        this.gather(worker).then(of => say(worker, { type: 'figures', id: message.id, of }))
        return
    }
  }

  /** Of all but the one who asks, which has its own. Who does not answer is left out. */
  private async gather(asker: Worker): Promise<readonly (readonly Family[])[]> {
    const others = [...this.alive].filter(worker => worker !== asker)
    const ask = (worker: Worker) => this.figures.ask(FIGURES_MS_MAX, id => say(worker, { type: 'figures-wanted', id }))
    const answers = await Promise.all(others.map(ask))
    return answers.flatMap(answer => answer ?? [])
  }

  private bury(worker: Worker, end: { readonly code: number | null; readonly signal: number | string | null }): void {
    this.alive.delete(worker)
    worker.ready.reject(new Error(`a worker ended before it listened (${end.signal ?? end.code})`))
    if (this.stops > 0) {
      this.hasFailed ||= end.code !== 0
      this.endIfDone()
      return
    }
    // Without the first one there is nothing yet that could go on.
    if (this.port === undefined) return
    const pauseMs = this.pauseAfter(worker)
    this.log.error('a worker ended, and another one is started', { worker: worker.place + 1, ...end, in_ms: pauseMs })
    setTimeout(() => this.stops === 0 && this.launch(worker.place), pauseMs)
  }

  private pauseAfter({ place, startedAt }: Worker): number {
    const isHealthy = performance.now() - startedAt > HEALTHY_MS
    const pauseMs = isHealthy ? PAUSE_MS.first : (this.pauses.get(place) ?? PAUSE_MS.first)
    this.pauses.set(place, Math.min(pauseMs * 2, PAUSE_MS.most))
    return pauseMs
  }

  private endIfDone(): void {
    if (this.stops === 0 || this.alive.size > 0) return
    this.log.flush()
    process.exit(this.hasFailed ? 1 : 0)
  }
}

/** One that is about to end need not hear it. */
function say({ process: worker }: Worker, message: ToWorker): void {
  if (worker.exitCode === null && worker.signalCode === null) worker.send(message)
}
