import { existsSync, readFileSync } from 'node:fs'
import { BUILTIN_MODELS } from './builtin.ts'
import { ConfigError } from './faults.ts'
import type { Definitions, Environment } from './file.ts'
import { PRESETS, presetModels } from './presets.ts'
import { readDatabaseUrl, readSecret } from './secrets.ts'

/** What the environment says. Read once, by `main.ts`; nobody else looks at it. */
export interface Config {
  readonly host: string
  readonly port: number
  readonly dataFolder: string
  /** Set where the store is a PostgreSQL that others may share. Holds a password. */
  readonly databaseUrl: string | undefined
  /** Of usage and entries; undefined: they are kept for ever. Only PostgreSQL forgets. */
  readonly retentionMonths: number | undefined
  /** Processes that share the port; each is a replica of its own. */
  readonly workers: number
  /** Of the embedded database. PostgreSQL has settings of its own. */
  readonly durability: 'process' | 'power'
  readonly adminToken: string | undefined
  /** Seals vendor credentials and signs sessions. */
  readonly secret: string | undefined
  /** Where people and callers reach this Duet, without a path; undefined where that is where it listens. */
  readonly publicUrl: string | undefined
  /** A proxy stands before this Duet, and its `x-forwarded-for` says who really calls. */
  readonly trustsProxy: boolean
  /** Turns that may be under way at once; more are refused before anything of them is looked at. */
  readonly maxInFlight: number
  /** How long a stopping Duet waits for what is under way. */
  readonly drainSeconds: number
  readonly bootstrapKey: string | undefined
  readonly catalog: CatalogSource
}

/** Where models and channels come from; read again on `SIGHUP`. */
export interface CatalogSource {
  /** Undefined where there is no file and the built-in catalog serves. */
  readonly path: string | undefined
  load(): Promise<LoadedCatalog>
}

export interface LoadedCatalog extends Definitions {
  readonly origin: 'file' | 'environment'
  /** Sentences for the start banner: which channels were made from which variables. */
  readonly notes: readonly string[]
}

const DEFAULT_FILE = './duet.yaml'

interface CountRange {
  readonly fallback: number
  readonly min: number
  readonly max: number
}

const MAX_IN_FLIGHT: CountRange = { fallback: 2_000, min: 1, max: 1_000_000 }
/** Whoever needs longer than a day does not want to stop. */
const DRAIN_SECONDS: CountRange = { fallback: 30, min: 0, max: 86_400 }
/** More than a machine has use for: each of them is a process with connections of its own. */
const WORKERS: CountRange = { fallback: 1, min: 1, max: 64 }
/** 0 stands for a variable that is not set. */
const RETENTION_MONTHS: CountRange = { fallback: 0, min: 1, max: 1_200 }

export function readConfig(env: Environment): Config {
  const faults: string[] = []
  const config = {
    host: env.DUET_HOST || '127.0.0.1',
    port: readPort(env.DUET_PORT, faults),
    dataFolder: env.DUET_DATA || './data',
    databaseUrl: readDatabaseUrl(env, faults),
    retentionMonths: readCount(env, 'DUET_RETENTION_MONTHS', RETENTION_MONTHS, faults) || undefined,
    workers: readCount(env, 'DUET_WORKERS', WORKERS, faults),
    durability: readDurability(env.DUET_DURABILITY, faults),
    adminToken: readSecret(env, 'DUET_ADMIN_TOKEN', faults),
    secret: readSecret(env, 'DUET_SECRET', faults),
    publicUrl: readPublicUrl(env.DUET_PUBLIC_URL, faults),
    trustsProxy: readFlag(env, 'DUET_TRUST_PROXY', faults),
    maxInFlight: readCount(env, 'DUET_MAX_IN_FLIGHT', MAX_IN_FLIGHT, faults),
    drainSeconds: readCount(env, 'DUET_DRAIN_SECONDS', DRAIN_SECONDS, faults),
    bootstrapKey: readSecret(env, 'DUET_BOOTSTRAP_KEY', faults),
    catalog: catalogSource(env, faults),
  }
  faults.push(...storeFaults(config))
  if (faults.length > 0) throw new ConfigError(faults)
  return config
}

/** What does not go together with the store that was chosen. */
function storeFaults({ databaseUrl, secret, workers, retentionMonths }: Config): string[] {
  if (databaseUrl !== undefined) {
    // Of secrets that were generated, each replica would have another.
    return secret === undefined ? ['DUET_SECRET: is required with DUET_DATABASE_URL, the same for all replicas'] : []
  }
  const needs = (name: string, why: string) => `${name}: needs DUET_DATABASE_URL: ${why}`
  return [
    ...(workers > 1 ? [needs('DUET_WORKERS', 'one process owns the embedded database')] : []),
    ...(retentionMonths !== undefined ? [needs('DUET_RETENTION_MONTHS', 'the embedded database forgets nothing')] : []),
  ]
}

function readPort(text: string | undefined, faults: string[]): number {
  if (!text) return 7070
  const port = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (!(port <= 65_535)) faults.push(`DUET_PORT: must be a number from 0 to 65535, not "${text}"`)
  return port
}

function readDurability(text: string | undefined, faults: string[]): Config['durability'] {
  if (!text || text === 'process') return 'process'
  if (text !== 'power') faults.push(`DUET_DURABILITY: must be process or power, not "${text}"`)
  return 'power'
}

function readPublicUrl(text: string | undefined, faults: string[]): string | undefined {
  if (!text) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isOrigin =
    url && /^https?:$/.test(url.protocol) && url.pathname === '/' && !url.search && !url.hash && !url.username
  if (!isOrigin) faults.push('DUET_PUBLIC_URL: must be an address such as https://duet.example.com, without a path')
  return url?.origin
}

function readFlag(env: Environment, name: string, faults: string[]): boolean {
  const text = env[name] || 'false'
  if (text !== 'true' && text !== 'false') faults.push(`${name}: must be true or false, not "${text}"`)
  return text === 'true'
}

function readCount(env: Environment, name: string, { fallback, min, max }: CountRange, faults: string[]): number {
  const text = env[name]
  if (!text) return fallback
  const count = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (!(count >= min && count <= max)) {
    faults.push(`${name}: must be a whole number from ${min} to ${max}, not "${text}"`)
  }
  return count
}

function catalogSource(env: Environment, faults: string[]): CatalogSource {
  const named = env.DUET_CONFIG || undefined
  if (named && !existsSync(named)) faults.push(`DUET_CONFIG: there is no file ${named}`)
  const path = named ?? (existsSync(DEFAULT_FILE) ? DEFAULT_FILE : undefined)
  return { path, load: async () => (path ? loadFile(path, env) : loadFromEnvironment(env)) }
}

// The schema library is loaded only where there is a file to check: a start without one is faster by a third.
async function loadFile(path: string, env: Environment): Promise<LoadedCatalog> {
  const { readCatalogFile } = await import('./file.ts')
  return { ...readCatalogFile(readText(path), env), origin: 'file', notes: [] }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : error
    throw new ConfigError([`${path}: cannot be read (${code})`])
  }
}

/** Without a file, every vendor whose key is in the environment gets a channel. */
function loadFromEnvironment(env: Environment): LoadedCatalog {
  const ids = BUILTIN_MODELS.map(({ id }) => id)
  const found = Object.entries(PRESETS).flatMap(([vendor, preset]) => {
    const variable = preset.variables.find(name => env[name])
    return variable && presetModels(preset, ids).size > 0 ? [{ vendor, preset, variable }] : []
  })
  const channels = found.map(({ vendor, preset, variable }) => ({
    name: vendor,
    vendor,
    api_keys: [env[variable] as string],
    // A model's own vendor goes before resellers.
    priority: preset.serves === 'all' ? 1 : 0,
    weight: 1,
    groups: ['default'],
    timeout: {},
    breaker: {},
    capabilities: {},
  }))
  const notes = found.map(({ vendor, variable }) => `channel ${vendor} made from ${variable}`)
  return { origin: 'environment', models: undefined, channels, aliases: new Map(), notes }
}
