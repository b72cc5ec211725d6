import { join } from 'node:path'
import { start } from '../machine/processes.ts'
import type { Shape } from '../requests.ts'
import type { Contestant } from './contestant.ts'
import { askDirectly } from './direct.ts'
import { firstAnswer, freePort } from './ready.ts'

const PROXY = join(import.meta.dir, 'bare-proxy.ts')
const SMALL: Shape = { protocol: 'chat', behaviour: 'whole-1000', bytes: 1_000 }

/** The runtime's limit: what `Bun.serve` and `fetch` can do when nothing is done in between. */
export const bare: Contestant = {
  name: 'bare',
  label: `bare proxy, Bun ${Bun.version}`,
  async start({ upstream, placement, folder }) {
    const url = `http://127.0.0.1:${freePort()}`
    const logFile = join(folder, 'log')
    const proxy = start({
      command: [process.execPath, PROXY, url, upstream],
      cores: placement.gateway,
      folder,
      // Without it the runtime runs 256 upstream requests at once, silently.
      env: { BUN_CONFIG_MAX_HTTP_REQUESTS: '65535' },
      logFile,
    })
    await firstAnswer(proxy, askDirectly(url, SMALL), logFile)
    return { pid: proxy.pid, ask: shape => askDirectly(url, shape), stop: proxy.stop }
  },
}
