import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { start } from '../machine/processes.ts'
import { find } from '../machine/requirements.ts'
import type { Shape } from '../requests.ts'
import type { Contestant } from './contestant.ts'
import { askDirectly } from './direct.ts'
import { firstAnswer, freePort } from './ready.ts'

const SMALL: Shape = { protocol: 'chat', behaviour: 'whole-1000', bytes: 1_000 }

/** Near the limit of what a proxy can be. */
export const nginx: Contestant = {
  name: 'nginx',
  label: 'nginx, proxy_pass',
  async start({ upstream, placement, folder }) {
    const port = freePort()
    const configFile = join(folder, 'nginx.conf')
    const logFile = join(folder, 'log')
    mkdirSync(join(folder, 'temporary'), { recursive: true })
    writeFileSync(configFile, configuration({ port, upstream: new URL(upstream).host, folder }))
    const command = [find('nginx') ?? 'nginx', '-c', configFile, '-p', folder, '-e', logFile]
    const server = start({ command, cores: placement.gateway, folder, logFile })
    const url = `http://127.0.0.1:${port}`
    await firstAnswer(server, askDirectly(url, SMALL), logFile)
    return { pid: server.pid, ask: shape => askDirectly(url, shape), stop: server.stop }
  },
}

interface Settings {
  readonly port: number
  readonly upstream: string
  readonly folder: string
}

/** One worker, connections to the upstream kept, no log, prompts and answers in memory, streams passed on as they come. */
function configuration({ port, upstream, folder }: Settings): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map(kind => `${kind}_temp_path ${folder}/temporary/${kind};`)
    .join(' ')
  return `
    daemon off; worker_processes 1; worker_rlimit_nofile 20000; pid ${folder}/pid; error_log ${folder}/log;
    events { worker_connections 32768; }
    http {
      access_log off; ${temporary}
      keepalive_requests 1000000000; client_body_buffer_size 512k; client_max_body_size 32m;
      upstream mock { server ${upstream}; keepalive 1024; keepalive_requests 1000000000; }
      proxy_http_version 1.1; proxy_set_header Connection ''; proxy_max_temp_file_size 0; proxy_buffering off;
      server { listen 127.0.0.1:${port} backlog=65535; location / { proxy_pass http://mock; } }
    }
  `
}
