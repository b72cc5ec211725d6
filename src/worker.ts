import { type App, startApp } from './app.ts'
import { readConfig } from './config/config.ts'
import { explain } from './config/faults.ts'
import { mergeFamilies } from './telemetry/merge.ts'
import type { Family } from './telemetry/prometheus.ts'
import { type FromWorker, Questions, type ToWorker } from './worker-talk.ts'
import { linewise, writerTo } from './writer.ts'

/** One of several processes on one port. It does what `workers.ts`, which has started it, says; without that, it ends. */

/** Prometheus waits longer than this; what is there by then is shown. */
const FIGURES_MS_MAX = 2_000

/** A start that takes longer waits for its database, and has nothing to finish. */
const START_MS_MAX = 3_000

const figures = new Questions<readonly (readonly Family[])[]>()
const hurry = new AbortController()
let app: App | undefined
let isStopping = false
let isOrphan = false

process.on('message', (message: ToWorker) => heed(message))
process.on('disconnect', () => {
  isOrphan = true
  stop()
})
// A terminal tells them to all of its processes, and a service manager may do so, too: the word of one is enough.
process.on('SIGINT', () => {})
process.on('SIGHUP', () => {})
process.on('SIGTERM', () => (isOrphan && isStopping ? hurry.abort() : stop()))

const started = start()
await started

async function start(): Promise<void> {
  try {
    app = await startApp(readConfig(process.env), linewise(writerTo(Bun.stderr)), { crew: { gather } })
    say({ type: 'started', app })
  } catch (error) {
    process.send?.({ type: 'failed', problem: explain(error) } satisfies FromWorker, () => process.exit(1))
  }
}

function heed(message: ToWorker): void {
  switch (message.type) {
    case 'stop':
      stop()
      return
    case 'hurry':
      hurry.abort()
      return
    case 'reload':
      app?.reload()
      return
    case 'figures-wanted':
      say({ type: 'figures', id: message.id, of: app ? [app.metrics()] : [] })
      return
    case 'figures':
      figures.answer(message.id, message.of)
      return
  }
}

/** One that is about to have started listens already, and may have calls to finish. */
async function stop(): Promise<void> {
  if (isStopping) return
  isStopping = true
  await Promise.race([started, Bun.sleep(START_MS_MAX)])
  process.exit(!app || (await app.stop(hurry.signal)) ? 0 : 1)
}

/** Whoever is asked answers for all. */
async function gather(own: readonly Family[]): Promise<readonly Family[]> {
  const others = await figures.ask(FIGURES_MS_MAX, id => say({ type: 'figures-wanted', id }))
  return mergeFamilies([own, ...(others ?? [])])
}

/** Nobody may be left to hear it. */
function say(message: FromWorker): void {
  if (process.connected) process.send?.(message)
}
