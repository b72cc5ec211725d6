import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { start } from '../machine/processes.ts'
import { find } from '../machine/requirements.ts'
import { type Ask, bodyOf, PATHS, type Shape } from '../requests.ts'
import type { Contestant } from './contestant.ts'
import { firstAnswer, freePort } from './ready.ts'

const HOME = join(import.meta.dir, '../portkey')
const INSTALLED = join(HOME, 'node_modules/.installed')
const SERVER = join(HOME, 'node_modules/@portkey-ai/gateway/build/start-server.js')
const SMALL: Shape = { protocol: 'chat', behaviour: 'whole-1000', bytes: 1_000 }

/** A gateway in TypeScript, from npm, on Node.js as its authors run it; it keeps no accounts. */
export const portkey: Contestant = {
  name: 'portkey',
  label: 'Portkey 1.15.2',
  install,
  async start({ upstream, placement, folder }) {
    const port = freePort()
    const logFile = join(folder, 'log')
    const server = start({
      // Without the page it would serve, and the log that the page shows.
      command: [find('node') ?? 'node', SERVER, `--port=${port}`, '--headless'],
      cores: placement.gateway,
      folder,
      env: { NODE_ENV: 'production' },
      logFile,
    })
    const ask = (shape: Shape) => askPortkey(`http://127.0.0.1:${port}`, upstream, shape)
    await firstAnswer(server, ask(SMALL), logFile)
    return { pid: server.pid, ask, stop: server.stop }
  },
}

/** It is told with each request where to; addresses of this machine are among those it trusts by itself. */
function askPortkey(url: string, upstream: string, shape: Shape): Ask {
  return {
    url: url + PATHS[shape.protocol],
    headers: {
      'content-type': 'application/json',
      authorization: 'Bearer vendor-key-0123456789',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `${upstream}/${shape.behaviour}/v1`,
    },
    body: bodyOf(shape, 'bench-model'),
  }
}

/** The stamp goes with `node_modules` when npm starts afresh, so an installation that broke off is none. */
function install(): void {
  const hash = createHash('sha256')
    .update(readFileSync(join(HOME, 'package-lock.json')))
    .digest('hex')
  if (existsSync(INSTALLED) && readFileSync(INSTALLED, 'utf8') === hash) return
  process.stderr.write('Installing Portkey, 25 MB, once...\n')
  // Its one script patches packages that its bundle has inside already.
  const args = ['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund']
  const { success, stdout, stderr } = Bun.spawnSync(args, { cwd: HOME })
  if (!success) throw new Error(`${args.join(' ')}:\n${stdout}${stderr}`)
  writeFileSync(INSTALLED, hash)
}
