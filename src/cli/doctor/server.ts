import type { AccountView, List } from '../../admin/contract.ts'
import { VERSION } from '../../version.ts'
import { Api } from '../api.ts'
import type { Context } from '../command.ts'
import { asCommandError } from '../failure.ts'
import { findServer, type ServerPlace } from '../server.ts'
import { type Check, failed, ok, warning } from './check.ts'
import { judgeClock } from './clock.ts'

/** What was found at the address where the server should be. */
export interface Visit {
  readonly checks: readonly Check[]
  /** Undefined where the address itself is faulty. */
  readonly place: ServerPlace | undefined
  readonly isRunning: boolean
  /** Set where the server runs and takes our token. */
  readonly api: Api | undefined
}

/** A health check that takes longer is not healthy. */
const HEALTH_MS_MAX = 5_000

export async function visitServer({ env, clock }: Context): Promise<Visit> {
  const place = placeOrFault(env)
  if ('status' in place) return { checks: [place], place: undefined, isRunning: false, api: undefined }
  const found = await knock(place.base, clock)
  const port = place.isNamed ? [] : [checkPort(found, place)]
  if (found.type !== 'duet') {
    const advice = 'start one with "duet start", or set DUET_URL to where it runs'
    const missing = failed('server', `no Duet answers at ${place.base}; ${advice}`)
    return { checks: [...port, missing], place, isRunning: false, api: undefined }
  }
  const api = new Api(place)
  const token = await checkToken(api)
  const checks = [...port, checkReady(found, place), token, ...checkVersion(found), ...checkClock(found)]
  return { checks, place, isRunning: true, api: token.status === 'ok' ? api : undefined }
}

function placeOrFault(env: Context['env']): ServerPlace | Check {
  try {
    return findServer(env)
  } catch (error) {
    return failed('server', asCommandError(error).message)
  }
}

type Knocked =
  | {
      readonly type: 'duet'
      /** As it says of itself: `ok`, `stopping`, or `unavailable` while its database is away. */
      readonly state: string
      readonly version: string | undefined
      readonly skewMs: number | undefined
    }
  | { readonly type: 'stranger' }
  | { readonly type: 'nobody' }

/** Needs no token, so it tells a server that is away from one that does not know us. */
async function knock(base: string, clock: () => number): Promise<Knocked> {
  const before = clock()
  const health = await ask(`${base}/health/ready`)
  if (health === undefined) return { type: 'nobody' }
  const after = clock()
  const state = /^\{"status":"(ok|stopping|unavailable)"[,}]/.exec(health.text)?.[1]
  if (state === undefined) return { type: 'stranger' }
  const metrics = await ask(`${base}/metrics`)
  return {
    type: 'duet',
    state,
    version: /duet_build_info\{version="([^"]*)"\}/.exec(metrics?.text ?? '')?.[1],
    skewMs: skewOf(Date.parse(health.date), { before, after }),
  }
}

interface Asked {
  readonly status: number
  readonly date: string
  readonly text: string
}

async function ask(url: string): Promise<Asked | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(HEALTH_MS_MAX), redirect: 'manual' })
    return { status: response.status, date: response.headers.get('date') ?? '', text: await response.text() }
  } catch (error) {
    const refused = ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH']
    const isAway = error instanceof Error && 'code' in error && refused.includes(String(error.code))
    return isAway ? undefined : { status: 0, date: '', text: '' }
  }
}

/** A `date` header tells whole seconds. */
const DATE_STEP_MS = 1_000

/** How far the server's clock is outside of the time in which it must have answered. */
function skewOf(theirs: number, { before, after }: { before: number; after: number }): number | undefined {
  if (Number.isNaN(theirs)) return undefined
  if (theirs > after) return theirs - after
  return theirs < before - DATE_STEP_MS ? theirs - (before - DATE_STEP_MS) : 0
}

function checkPort(found: Knocked, { base }: ServerPlace): Check {
  const { hostname, port } = new URL(base)
  if (found.type === 'duet') return ok('port', `Duet has ${hostname}:${port || 80}`)
  if (found.type === 'stranger')
    return failed('port', `${hostname}:${port || 80} is taken by something that is not Duet`)
  try {
    Bun.listen({ hostname: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80), socket: { data() {} } }).stop(
      true,
    )
    return ok('port', `${hostname}:${port || 80} is free`)
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? error.code : error
    return failed('port', `Duet cannot listen on ${hostname}:${port || 80} (${reason})`)
  }
}

function checkReady({ state }: { state: string }, { base }: ServerPlace): Check {
  if (state === 'unavailable') return failed('server', `the Duet at ${base} cannot reach its database`)
  return state === 'ok' ? ok('server', `Duet answers at ${base}`) : warning('server', `the Duet at ${base} is stopping`)
}

async function checkToken(api: Api): Promise<Check> {
  try {
    await api.get<List<AccountView>>('/accounts', { limit: 1 })
    return ok('admin token', 'the server takes it')
  } catch (error) {
    return failed('admin token', asCommandError(error).message)
  }
}

function checkVersion({ version }: { version: string | undefined }): Check[] {
  if (version === undefined) return []
  if (version === VERSION) return [ok('version', `${VERSION}, as this command line`)]
  return [warning('version', `the server has ${version}, this command line ${VERSION}`)]
}

const checkClock = ({ skewMs }: { skewMs: number | undefined }): Check[] =>
  skewMs === undefined ? [] : [judgeClock('clock', { skewMs, whose: 'the server' })]
