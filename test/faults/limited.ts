import { afterAll } from 'bun:test'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { STORE } from '../support/databases.ts'
import { ADMIN_TOKEN, type Duet, type JsonBody, KEY, newFolder, startDuet } from '../support/duet.ts'
import { eventually } from '../support/wire.ts'

/** A Duet whose disk can be made full, and empty again, while it runs. */
export interface LimitedDuet extends Duet {
  /** From now on no file of the server may grow. */
  fill(): void
  empty(): void
}

/** From util-linux: sets limits of a process that runs already. */
const PRLIMIT = Bun.which('prlimit')

/** A limit on the files of another server would have to be set there. */
export const canLimit = PRLIMIT !== null && STORE === 'sqlite'

const ROOT = join(import.meta.dir, '../..')
const START_MS_MAX = 15_000

/** What a failed test left running. */
const children: { kill(signal: NodeJS.Signals): void }[] = []
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
})

/**
 * Writing beyond the limit of a file's size kills a process unless it ignores the signal; then the write fails, as it
 * does on a full disk. An ignored signal is inherited by what a shell starts.
 */
export async function startLimited(config: string): Promise<LimitedDuet> {
  const folder = newFolder()
  writeFileSync(join(folder, 'duet.yaml'), config)
  const child = Bun.spawn(['sh', '-c', 'trap "" XFSZ; exec "$0" start', join(ROOT, 'bin/duet')], {
    cwd: folder,
    env: {
      ...{ PATH: process.env.PATH ?? '', HOME: folder, DUET_PORT: '0', DUET_DATA: join(folder, 'data') },
      ...{ DUET_ADMIN_TOKEN: ADMIN_TOKEN, DUET_BOOTSTRAP_KEY: KEY },
    },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  children.push(child)
  let printed = ''
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    for await (const chunk of stream) printed += new TextDecoder().decode(chunk)
  }
  collect(child.stdout)
  collect(child.stderr)
  const findUrl = () => /Base URL\s+(\S+)\/v1/.exec(printed)?.[1]
  const url = await eventually(findUrl, found => found !== undefined, START_MS_MAX)
  if (url === undefined) throw new Error(`Duet did not start:\n${printed}`)

  // The soft limit alone: what was taken from the hard one could not be given back.
  const limit = (bytes: number | 'unlimited') => {
    const { exitCode } = Bun.spawnSync([PRLIMIT ?? '', '--pid', `${child.pid}`, `--fsize=${bytes}:`])
    if (exitCode !== 0) throw new Error('the limit could not be set')
  }
  return {
    ...{ url, base: `${url}/v1`, key: KEY, adminToken: ADMIN_TOKEN, folder, pid: child.pid, output: () => printed },
    fill: () => limit(statSync(join(folder, 'data/duet.db-wal')).size),
    empty: () => limit('unlimited'),
    stop(signal = 'SIGTERM') {
      child.kill(signal)
      return child.exited
    },
    restart: () => startDuet({ folder }),
    admin: (method, path, body) => callAdmin(url + path, method, body),
  }
}

async function callAdmin(url: string, method: string, body: unknown): Promise<{ status: number; body: JsonBody }> {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: await response.json() }
}
