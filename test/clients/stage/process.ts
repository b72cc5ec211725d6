import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const START_MS_MAX = 15_000
const DUET = join(import.meta.dirname, '../../../bin/duet')

export interface Running {
  /** What `ready` found in the output. */
  readonly found: string
  stop(): Promise<void>
}

export interface Launch {
  readonly folder: string
  readonly env?: Readonly<Record<string, string>>
  /** The first group is what the caller waits for. */
  readonly ready: RegExp
}

/** A command of Duet's that runs until it is stopped. */
export async function launch(args: readonly string[], { folder, env, ready }: Launch): Promise<Running> {
  const child = spawn(DUET, args, { cwd: folder, env: bareEnvironment(folder, env), stdio: ['ignore', 'pipe', 'pipe'] })
  const printed = collect(child)
  const stop = () => end(child)
  const deadline = Date.now() + START_MS_MAX
  for (;;) {
    const found = ready.exec(printed())?.[1]
    if (found !== undefined) return { found, stop }
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop()
      throw new Error(`duet ${args[0]} did not start:\n${printed()}`)
    }
    await sleep(10)
  }
}

/** Nothing of the machine's own: a vendor's key in there would make a channel, or an agent's account. */
export function bareEnvironment(home: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { PATH: process.env.PATH ?? '', HOME: home, ...more }
}

/** Everything that a process has printed so far. */
export function collect({ stdout, stderr }: ChildProcess): () => string {
  let printed = ''
  for (const stream of [stdout, stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
  }
  return () => printed
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'duet-clients-'))
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}
