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
    process.stderr.write(`duet: cannot start: ${explain(error)}`)
    process.exit(1)
  }
}

function explain(error: unknown): string {
  if (!(error instanceof ConfigError)) return `${error instanceof Error ? error.message : error}\n`
  const { faults } = error
  const list = faults.map(fault => `  - ${fault}\n`).join('')
  return `the configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${list}`
}

async function reload(app: App): Promise<void> {
  try {
    await app.reload()
  } catch (error) {
    process.stderr.write(`duet: cannot read the configuration again: ${explain(error)}`)
    process.stderr.write('duet: the last good configuration stays in use\n')
  }
}

let stopping = false

async function stop(app: App): Promise<void> {
  if (stopping) return
  stopping = true
  await app.stop()
  process.exit(0)
}
