import { timingSafeEqual } from 'node:crypto'
import { type AccountsDeps, accountRoutes } from './accounts.ts'
import { type CatalogDeps, catalogRoutes } from './catalog.ts'
import { type CodesDeps, codeRoutes } from './codes.ts'
import type { ErrorView } from './contract.ts'
import { type EventsDeps, eventRoutes } from './events.ts'
import { type ExportsDeps, exportRoutes } from './exports.ts'
import { AdminError } from './failure.ts'
import { type InvitesDeps, inviteRoutes } from './invites.ts'
import { type KeysDeps, keyRoutes } from './keys.ts'
import { type NoticesDeps, noticeRoutes } from './notices.ts'
import { type OpenApiDeps, openApiRoutes } from './openapi.ts'
import { refuseOtherSites } from './origin.ts'
import { type OverviewDeps, overviewRoutes } from './overview.ts'
import { type PlaygroundDeps, playgroundRoutes } from './playground.ts'
import type { Access, Actor, AdminCall, AdminReply, Route, Routes } from './route.ts'
import { findSession, type SessionsDeps, sessionRoutes } from './sessions.ts'
import { type UsageDeps, usageRoutes } from './usage.ts'
import { type UsersDeps, userRoutes } from './users.ts'
import { ledgerRoutes, type VerifyDeps } from './verify.ts'

export interface AdminDeps
  extends AccountsDeps,
    KeysDeps,
    UsageDeps,
    VerifyDeps,
    CatalogDeps,
    SessionsDeps,
    InvitesDeps,
    UsersDeps,
    CodesDeps,
    NoticesDeps,
    PlaygroundDeps,
    OverviewDeps,
    ExportsDeps,
    EventsDeps,
    OpenApiDeps {
  readonly adminToken: string
}

export const ROUTES: Routes<AdminDeps> = {
  ...sessionRoutes,
  ...inviteRoutes,
  ...userRoutes,
  ...accountRoutes,
  ...keyRoutes,
  ...usageRoutes,
  ...catalogRoutes,
  ...ledgerRoutes,
  ...codeRoutes,
  ...noticeRoutes,
  ...playgroundRoutes,
  ...overviewRoutes,
  ...exportRoutes,
  ...eventRoutes,
  ...openApiRoutes(() => ROUTES),
}

/** The management API: JSON in, JSON out, honest statuses. */
export async function manage(call: AdminCall, deps: AdminDeps): Promise<AdminReply> {
  try {
    const found = match(call)
    const access = 'route' in found ? found.route.access : 'member'
    const actor = access === 'open' ? NOBODY : await authorize(call, access, deps)
    // Whoever may not ask does not learn either what there is to ask for.
    if ('problem' in found) throw found.problem
    const { route, ids } = found
    const reply = await route.handle({ call, ids, actor, deps, json: () => readJson(call) })
    return actor.renewal ? { session: actor.renewal, ...reply } : reply
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    return {
      status: error.status,
      body: viewError(error),
      ...(error.retryAfter ? { retryAfter: error.retryAfter } : {}),
    }
  }
}

const viewError = ({ code, message, param }: AdminError): ErrorView => ({
  error: { code, message, ...(param === undefined ? {} : { param }) },
})

// ── who may ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const NOBODY: Actor = { role: 'member', user: undefined, sessionId: undefined, renewal: undefined }
const OPERATOR: Actor = { role: 'admin', user: undefined, sessionId: undefined, renewal: undefined }

async function authorize(call: AdminCall, access: Access, deps: AdminDeps): Promise<Actor> {
  const actor = await findActor(call, deps)
  if (!actor) {
    throw new AdminError(401, 'unauthorized', 'sign in, or send the admin token as "Authorization: Bearer <token>"')
  }
  if (access === 'admin' && actor.role !== 'admin') throw new AdminError(403, 'forbidden', 'only an admin may do this')
  return actor
}

/** A token that is given must be right: a browser that sends a wrong one is not helped by its cookie. */
async function findActor(call: AdminCall, deps: AdminDeps): Promise<Actor | undefined> {
  if (call.token !== undefined) return isSame(call.token, deps.adminToken) ? OPERATOR : undefined
  const actor = await findSession(call, deps)
  if (actor && call.method !== 'GET') refuseOtherSites(call)
  return actor
}

function isSame(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)]
  return a.byteLength === b.byteLength && timingSafeEqual(a, b)
}

// ── what for ────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Pattern {
  readonly method: string
  readonly parts: readonly string[]
  readonly route: Route<AdminDeps>
}

const PATTERNS: readonly Pattern[] = Object.entries(ROUTES).map(([name, route]) => {
  const [method = '', path = ''] = name.split(' ')
  return { method, parts: path.split('/').slice(1), route }
})

type Match = { readonly route: Route<AdminDeps>; readonly ids: string[] } | { readonly problem: AdminError }

/** A path that is spelled out goes before one with an id in its place. */
function match({ method, path, segments }: AdminCall): Match {
  const fitting = PATTERNS.filter(({ parts }) => fits(parts, segments))
  if (fitting.length === 0) {
    return { problem: new AdminError(404, 'not_found', `there is no ${path} in the management API`) }
  }
  const [best] = fitting.filter(pattern => pattern.method === method).toSorted((a, b) => idsIn(a) - idsIn(b))
  if (best) return { route: best.route, ids: segments.filter((_, place) => best.parts[place] === '*') }
  const methods = [...new Set(fitting.map(pattern => pattern.method))].join(', ')
  return { problem: new AdminError(405, 'method_not_allowed', `${path} takes ${methods}`) }
}

const fits = (parts: readonly string[], segments: readonly string[]): boolean =>
  parts.length === segments.length &&
  parts.every((part, place) => part === segments[place] || isId(part, segments[place]))

const isId = (part: string, segment: string | undefined): boolean => part === '*' && segment !== ''

const idsIn = ({ parts }: Pattern): number => parts.filter(part => part === '*').length

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
