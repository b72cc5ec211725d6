import { type App, startApp } from './app.ts'
import { banner } from './cli/banner.ts'
import { readConfig } from './config/config.ts'
import { ConfigError } from './config/faults.ts'

/** Environment -> config -> app -> listen; then signals, until one of them ends it. */
export async function start(): Promise<void> {
  const app = await startOrExplain()
  process.stdout.write(banner(app))
  process.on('SIGHUP', () => reload(app))
  process.on('SIGTERM', () => stop(app))
  process.on('SIGINT', () => stop(app))
}

async function startOrExplain(): Promise<App> {
  try {
    return await startApp(readConfig(process.env), text => process.stderr.write(text))
  } catch (error) {
    process.stderr.write(explain(error))
    process.exit(1)
  }
}

function explain(error: unknown): string {
  if (error instanceof ConfigError) {
    return `duet: the configuration has ${error.faults.length} fault(s):\n${error.faults.map(fault => `  - ${fault}\n`).join('')}`
  }
  return `duet: cannot start: ${error instanceof Error ? error.message : error}\n`
}

async function reload(app: App): Promise<void> {
  try {
    await app.reload()
  } catch (error) {
    process.stderr.write(`${explain(error)}duet: the last good configuration stays in use\n`)
  }
}

let stopping = false

async function stop(app: App): Promise<void> {
  if (stopping) return
  stopping = true
  await app.stop()
  process.exit(0)
}
