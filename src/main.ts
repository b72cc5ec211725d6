import type { Announcement, App } from './app.ts'
import { type Config, readConfig } from './config/config.ts'
import { explain } from './config/faults.ts'
import { writerTo } from './writer.ts'

/** Environment -> config -> app -> listen; then signals, until one of them ends it. */
export async function start(env: NodeJS.ProcessEnv, announce: (app: Announcement) => void): Promise<void> {
  try {
    const config = readConfig(env)
    await (config.workers > 1 ? startMany(config, env, announce) : startOne(config, announce))
  } catch (error) {
    throw new Error(`cannot start: ${explain(error)}`, { cause: error })
  }
}

async function startOne(config: Config, announce: (app: Announcement) => void): Promise<void> {
  const { startApp } = await import('./app.ts')
  const app = await startApp(config, writerTo(Bun.stderr))
  process.on('SIGHUP', () => app.reload())
  process.on('SIGTERM', () => stop(app))
  process.on('SIGINT', () => stop(app))
  // Last: whoever reads that it runs may tell it to stop.
  announce(app)
}

async function startMany(config: Config, env: NodeJS.ProcessEnv, announce: (app: Announcement) => void): Promise<void> {
  const { startWorkers } = await import('./workers.ts')
  announce(await startWorkers(config, env, writerTo(Bun.stderr)))
}

let hurry: AbortController | undefined

/** Whoever says it again does not want to wait: what is under way ends at once, settled all the same. */
async function stop(app: App): Promise<void> {
  if (hurry) return hurry.abort()
  hurry = new AbortController()
  process.exit((await app.stop(hurry.signal)) ? 0 : 1)
}
