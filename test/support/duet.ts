import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AdminAnswer, readAnswer } from './contract.ts'
import { storeEnv } from './databases.ts'

/** A real Duet in a process of its own, on a port and in a folder of its own, and on the store that is being tested. */
export interface Duet {
  /** `http://127.0.0.1:<port>` */
  readonly url: string
  /** The same with `/v1`: what the interface calls `{base_url}`. */
  readonly base: string
  readonly key: string
  readonly adminToken: string
  readonly folder: string
  readonly pid: number
  /** Everything printed so far. */
  readonly output: () => string
  /** Sends SIGTERM (or another signal) and returns the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number>
  /** Starts again on the same folder after a stop. */
  restart(): Promise<Duet>
  /** Calls the management API. */
  admin(method: string, path: string, body?: unknown): Promise<AdminAnswer>
}

export interface DuetOptions {
  /** The text of a `duet.yaml`. */
  readonly config?: string
  readonly env?: Readonly<Record<string, string>>
  readonly folder?: string
}

const ROOT = join(import.meta.dir, '../..')
const START_MS_MAX = 15_000

export const KEY = `sk-duet-${'t'.repeat(43)}`
export const ADMIN_TOKEN = 'duet-admin-token-of-the-tests'

/** Parsed JSON in a test: looked into freely, asserted on at once. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads bodies of many shapes
export type JsonBody = any

export async function startDuet(options: DuetOptions = {}): Promise<Duet> {
  const folder = options.folder ?? newFolder()
  const env = { DUET_ADMIN_TOKEN: ADMIN_TOKEN, DUET_BOOTSTRAP_KEY: KEY, ...options.env }
  const child = await spawnDuet(folder, { ...options, env })
  let printed = ''
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) printed += decoder.decode(chunk, { stream: true })
  }
  collect(child.stdout)
  collect(child.stderr)
  const url = await waitForUrl(() => printed, child)
  return {
    url,
    base: `${url}/v1`,
    key: env.DUET_BOOTSTRAP_KEY,
    adminToken: env.DUET_ADMIN_TOKEN,
    folder,
    pid: child.pid,
    output: () => printed,
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      return child.exited
    },
    restart: () => startDuet({ ...options, folder }),
    admin: (method, path, body) => callAdmin(url, method, path, body),
  }
}

/** For tests that expect the start to fail: what was printed, and the exit code. */
export async function failToStart(options: DuetOptions): Promise<{ code: number; output: string }> {
  const child = await spawnDuet(newFolder(), options)
  const timer = setTimeout(() => child.kill('SIGKILL'), START_MS_MAX)
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  clearTimeout(timer)
  return { code: await child.exited, output: out + err }
}

const folders: string[] = []
const children: { kill(signal: NodeJS.Signals): void }[] = []

/** A folder that is gone when the tests are over. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'duet-test-'))
  folders.push(folder)
  return folder
}

/** Ends what a failed test left running, and removes every folder. */
export function cleanUp(): void {
  for (const child of children) child.kill('SIGKILL')
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}

async function spawnDuet(folder: string, { config, env }: DuetOptions) {
  if (config !== undefined) writeFileSync(join(folder, 'duet.yaml'), config)
  const basics = { PATH: process.env.PATH ?? '', HOME: folder, DUET_PORT: '0', DUET_DATA: join(folder, 'data') }
  const child = Bun.spawn([join(ROOT, 'bin/duet'), 'start'], {
    cwd: folder,
    // Nothing of the machine's own environment: a vendor's key in there would make a channel.
    env: { ...basics, ...(await storeEnv(folder)), ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  children.push(child)
  return child
}

async function callAdmin(url: string, method: string, path: string, body?: unknown) {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return readAnswer(method, path, response)
}

async function waitForUrl(printed: () => string, child: { exitCode: number | null }): Promise<string> {
  const deadline = Date.now() + START_MS_MAX
  for (;;) {
    const url = /Base URL\s+(\S+)\/v1/.exec(printed())?.[1]
    if (url) return url
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`Duet did not start:\n${printed()}`)
    await Bun.sleep(10)
  }
}
