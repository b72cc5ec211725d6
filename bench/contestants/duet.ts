import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Process, start } from '../machine/processes.ts'
import { type Ask, bodyOf, PATHS, type Shape } from '../requests.ts'
import type { Contestant, Running, Stage } from './contestant.ts'
import { firstAnswer, freePort } from './ready.ts'
import { databaseOf, movePostgres, sharedPostgres } from './shared-postgres.ts'

const SMALL: Shape = { protocol: 'chat', behaviour: 'whole-1000', bytes: 1_000 }
const ADMIN_TOKEN = 'duet-admin-token-of-the-bench'
const FIRST_KEY = `sk-duet-${'f'.repeat(43)}`
const SECRET = 'duet-secret-of-the-bench-that-seals-and-signs'
const BALANCE = '1000000'
const CAP = '900000'

/** One that a benchmark runs beside others says which it is: `before=../duet-of-yesterday`. */
export interface DuetSource {
  readonly name: string
  readonly root: string
  /** So many replicas on one PostgreSQL, instead of the embedded database. */
  readonly replicas?: number
}

/**
 * Duet as it is installed, with everything on: the check of the key, an account with a balance, a key with a cap, the
 * ledger on disk, a record of each request, the log, the console.
 */
export function duetOf(source: DuetSource, behaviours: readonly string[]): Contestant {
  const { name, replicas } = source
  return {
    name,
    label: name === 'duet' ? 'Duet, money on' : `Duet (${name.replace('duet-', '')}), money on`,
    async start(stage) {
      if (!existsSync(keyFile(stage))) await setUp(source, stage, behaviours)
      const { url, process } = await run(source, stage, behaviours)
      const key = await Bun.file(keyFile(stage)).text()
      const ask = (shape: Shape) => askDuet(url, key, shape)
      await firstAnswer(process, ask(SMALL), logOf(stage))
      const databasePid = replicas === undefined ? undefined : (await sharedPostgres()).pid
      return { pid: process.pid, databasePid, ask, stop: process.stop } satisfies Running
    },
  }
}

/** The first start in a folder: afterwards it has a database with an account and a key in it. */
async function setUp(source: DuetSource, stage: Stage, behaviours: readonly string[]): Promise<void> {
  const { url, process } = await run(source, stage, behaviours)
  await firstAnswer(process, askDuet(url, FIRST_KEY, SMALL), logOf(stage))
  writeFileSync(keyFile(stage), await openAccount(url))
  await process.stop()
}

async function run(
  source: DuetSource,
  stage: Stage,
  behaviours: readonly string[],
): Promise<{ url: string; process: Process }> {
  const { folder, upstream, placement } = stage
  const port = freePort()
  writeFileSync(join(folder, 'duet.yaml'), catalog(upstream, behaviours))
  const process = start({
    command: [join(source.root, 'bin/duet'), 'start'],
    cores: placement.gateway,
    folder,
    env: {
      DUET_PORT: String(port),
      DUET_ADMIN_TOKEN: ADMIN_TOKEN,
      DUET_BOOTSTRAP_KEY: FIRST_KEY,
      // Above what any workload has under way; everything else is as it is without a setting.
      DUET_MAX_IN_FLIGHT: '20000',
      DUET_DRAIN_SECONDS: '1',
      ...(await storeOf(source, stage)),
    },
    logFile: logOf(stage),
  })
  return { url: `http://127.0.0.1:${port}`, process }
}

/** The database is where the gateway is, away from the load. */
async function storeOf({ replicas }: DuetSource, { folder, placement }: Stage): Promise<Record<string, string>> {
  if (replicas === undefined) return {}
  const url = await databaseOf(folder)
  await movePostgres(placement.gateway)
  return { DUET_DATABASE_URL: url, DUET_SECRET: SECRET, DUET_WORKERS: String(replicas) }
}

function catalog(upstream: string, behaviours: readonly string[]): string {
  const models = behaviours.map(name => `  - { id: bench/${name}, price: { input: 1, output: 4 } }`)
  const channels = behaviours.map(
    name =>
      `  - { name: ${name}, protocol: chat, base_url: "${upstream}/${name}/v1", api_key: vendor-key-0123456789, models: { bench/${name}: bench-model } }`,
  )
  return ['models:', ...models, 'channels:', ...channels, ''].join('\n')
}

/** Returns the secret of a key with a cap, of an account with a balance. */
async function openAccount(url: string): Promise<string> {
  await manage(url, '/api/accounts', { name: 'bench', balance: BALANCE })
  const { key } = await manage(url, '/api/keys', { account: 'bench', name: 'bench', cap: CAP })
  return String(key)
}

async function manage(url: string, path: string, body: object): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' }
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Record<string, unknown>
}

function askDuet(url: string, key: string, shape: Shape): Ask {
  return {
    url: url + PATHS[shape.protocol],
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: bodyOf(shape, `bench/${shape.behaviour}`),
  }
}

const keyFile = ({ folder }: Stage): string => join(folder, 'key')

const logOf = ({ folder }: Stage): string => join(folder, 'log')
