import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ask } from '../requests.ts'
import { adopt } from './children.ts'
import type { Cores } from './cores.ts'
import { native } from './native.ts'

export type Mode = 'plain' | 'rate' | 'stream' | 'paced' | 'abort'

/** Microseconds. */
export interface Times {
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
  readonly mean: number
}

/** What the load generator prints; the last five are of streams. */
export interface LoadReport extends Times {
  readonly seconds: number
  readonly requests: number
  readonly errors: number
  readonly firstError: string
  readonly late?: number
  readonly frames?: number
  readonly expectedFrames?: number
  readonly lost?: number
  readonly open?: number
  readonly delay?: Times
}

export interface Load {
  readonly pid: number
  readonly report: Promise<LoadReport>
}

/** Starts one run of the generator; `settings` are its options, such as `{ connections: 32, seconds: 4 }`. */
export function startLoad(mode: Mode, ask: Ask, settings: Readonly<Record<string, number>>, cores: Cores): Load {
  const folder = mkdtempSync(join(tmpdir(), 'duet-load-'))
  const [headers, body] = [join(folder, 'headers'), join(folder, 'body')]
  const lines = Object.entries(ask.headers).map(([name, value]) => `${name}: ${value}\n`)
  writeFileSync(headers, lines.join(''))
  writeFileSync(body, ask.body)
  const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const command = [native('load'), mode, '--url', ask.url, '--headers', headers, '--body', body, ...options]
  const child = adopt(Bun.spawn([...cores, ...command], { stdio: ['ignore', 'pipe', 'inherit'] }))
  const report = async () => {
    const printed = await new Response(child.stdout).text()
    rmSync(folder, { recursive: true })
    if ((await child.exited) !== 0) throw new Error(`The load generator failed: ${command.join(' ')}`)
    return JSON.parse(printed) as LoadReport
  }
  return { pid: child.pid, report: report() }
}
