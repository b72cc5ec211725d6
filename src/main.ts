import { type App, startApp } from './app.ts'
import { readConfig } from './config/config.ts'
import { ConfigError } from './config/faults.ts'

/** Environment -> config -> app -> listen; then signals, until one of them ends it. */
export async function start(env: NodeJS.ProcessEnv, announce: (app: App) => void): Promise<void> {
  const app = await startOrExplain(env)
  process.on('SIGHUP', () => app.reload())
  process.on('SIGTERM', () => stop(app))
  process.on('SIGINT', () => stop(app))
  // Last: whoever reads that it runs may tell it to stop.
  announce(app)
}

async function startOrExplain(env: NodeJS.ProcessEnv): Promise<App> {
  try {
    return await startApp(readConfig(env), writerTo(Bun.stderr))
  } catch (error) {
    throw new Error(`cannot start: ${explain(error)}`, { cause: error })
  }
}

/** Not `process.stderr`, with which all of the runtime's streams would be loaded: nothing else of a start needs them. */
function writerTo(file: Bun.BunFile): (text: string) => void {
  const sink = file.writer()
  return text => {
    sink.write(text)
    sink.flush()
  }
}

function explain(error: unknown): string {
  if (!(error instanceof ConfigError)) return error instanceof Error ? error.message : String(error)
  const { faults } = error
  const list = faults.map(fault => `\n  - ${fault}`).join('')
  return `the configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:${list}`
}

let hurry: AbortController | undefined

/** Whoever says it again does not want to wait: what is under way ends at once, settled all the same. */
async function stop(app: App): Promise<void> {
  if (hurry) return hurry.abort()
  hurry = new AbortController()
  process.exit((await app.stop(hurry.signal)) ? 0 : 1)
}
