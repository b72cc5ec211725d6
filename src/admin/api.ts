import { timingSafeEqual } from 'node:crypto'
import type { AccountsDeps } from './accounts.ts'
import { adjust, createAccount, listAccounts, listEntries, showAccount, topUp } from './accounts.ts'
import { type ChannelsDeps, listChannels, listModels, testChannel } from './catalog.ts'
import type { ErrorView } from './contract.ts'
import { AdminError } from './failure.ts'
import { changeKey, createKey, type KeysDeps, listKeys, revokeKey, showKey } from './keys.ts'
import { listUsage, showUsage, summarize, type UsageDeps } from './usage.ts'
import { type VerifyDeps, verifyLedger } from './verify.ts'

export interface AdminDeps extends AccountsDeps, KeysDeps, UsageDeps, VerifyDeps, ChannelsDeps {
  readonly adminToken: string
}

/** A management request as the edge hands it over. */
export interface AdminCall {
  readonly method: string
  /** Below `/api`, as it was requested. */
  readonly path: string
  /** Its parts, decoded. */
  readonly segments: readonly string[]
  readonly query: URLSearchParams
  readonly token: string | undefined
  /** What the caller reads, as its `accept` header says. */
  readonly accept: string
  /** Aborted when the caller has left. */
  readonly signal: AbortSignal
  text(): Promise<string>
}

export interface AdminReply {
  readonly status: number
  readonly body?: unknown
  /** Set where an answer comes bit by bit: one JSON object a line. */
  readonly lines?: AsyncIterable<unknown>
}

interface Matched {
  readonly call: AdminCall
  readonly id: string
  readonly deps: AdminDeps
  json(): Promise<unknown>
}

type Handler = (matched: Matched) => Promise<AdminReply>

const ROUTES: Readonly<Record<string, Handler>> = {
  'POST /accounts': async ({ json, deps }) => ({ status: 201, body: await createAccount(await json(), deps) }),
  'GET /accounts': async ({ call, deps }) => ({ status: 200, body: await listAccounts(call.query, deps) }),
  'GET /accounts/*': async ({ id, deps }) => ({ status: 200, body: await showAccount(id, deps) }),
  'POST /accounts/*/topups': async ({ id, json, deps }) => {
    const { applied, entry } = await topUp(id, await json(), deps)
    return { status: applied ? 201 : 200, body: entry }
  },
  'POST /accounts/*/adjustments': async ({ id, json, deps }) => {
    const { applied, entry } = await adjust(id, await json(), deps)
    return { status: applied ? 201 : 200, body: entry }
  },
  'GET /accounts/*/entries': async ({ id, call, deps }) => ({
    status: 200,
    body: await listEntries(id, call.query, deps),
  }),
  'POST /keys': async ({ json, deps }) => ({ status: 201, body: await createKey(await json(), deps) }),
  'GET /keys': async ({ call, deps }) => ({ status: 200, body: await listKeys(call.query, deps) }),
  'GET /keys/*': async ({ id, deps }) => ({ status: 200, body: await showKey(id, deps) }),
  'PATCH /keys/*': async ({ id, json, deps }) => ({ status: 200, body: await changeKey(id, await json(), deps) }),
  'DELETE /keys/*': async ({ id, deps }) => {
    await revokeKey(id, deps)
    return { status: 204 }
  },
  'GET /usage': async ({ call, deps }) => ({ status: 200, body: await listUsage(call.query, deps) }),
  'GET /usage/*': async ({ id, deps }) => ({ status: 200, body: await showUsage(id, deps) }),
  'GET /usage/summary': async ({ call, deps }) => ({ status: 200, body: await summarize(call.query, deps) }),
  'GET /ledger/verify': async ({ call, deps }) => verifyLedger(call, deps),
  'GET /models': async ({ deps }) => ({ status: 200, body: listModels(deps.catalog()) }),
  'GET /channels': async ({ deps }) => ({ status: 200, body: listChannels(deps.catalog()) }),
  'POST /channels/*/test': async ({ id, json, deps }) => ({
    status: 200,
    body: await testChannel(id, await json(), deps),
  }),
}

/** The management API: JSON in, JSON out, honest statuses. */
export async function manage(call: AdminCall, deps: AdminDeps): Promise<AdminReply> {
  try {
    refuseUnlessAdmin(call.token, deps.adminToken)
    const { handler, id } = match(call)
    return await handler({ call, id, deps, json: () => readJson(call) })
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    return { status: error.status, body: viewError(error) }
  }
}

const viewError = ({ code, message, param }: AdminError): ErrorView => ({
  error: { code, message, ...(param === undefined ? {} : { param }) },
})

function refuseUnlessAdmin(token: string | undefined, expected: string): void {
  const [given, wanted] = [Buffer.from(token ?? ''), Buffer.from(expected)]
  const isRight = given.byteLength === wanted.byteLength && timingSafeEqual(given, wanted)
  if (!isRight) throw new AdminError(401, 'unauthorized', 'send the admin token as "Authorization: Bearer <token>"')
}

/** Ids stand in the second place of every path that has one. */
function match({ method, path, segments }: AdminCall): { handler: Handler; id: string } {
  const [collection = '', id, ...rest] = segments
  const shape = `/${[collection, ...(id === undefined ? [] : ['*']), ...rest].join('/')}`
  const exact = `/${segments.join('/')}`
  const handler = ROUTES[`${method} ${exact}`] ?? ROUTES[`${method} ${shape}`]
  if (handler) return { handler, id: id ?? '' }
  const allowed = Object.keys(ROUTES).filter(route => route.endsWith(` ${shape}`) || route.endsWith(` ${exact}`))
  if (allowed.length === 0) throw new AdminError(404, 'not_found', `there is no ${path} in the management API`)
  const methods = allowed.map(route => route.slice(0, route.indexOf(' '))).join(', ')
  throw new AdminError(405, 'method_not_allowed', `${path} takes ${methods}`)
}

async function readJson(call: AdminCall): Promise<unknown> {
  const text = await call.text()
  // A call without a body says nothing, which is not the same as saying something wrong.
  if (text === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    throw new AdminError(400, 'invalid_json', 'the body must be valid JSON')
  }
}
