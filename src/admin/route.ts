import type { z } from 'zod'
import type { User } from '../core/people.ts'
import { AdminError } from './failure.ts'

/** A management request as the edge hands it over. */
export interface AdminCall {
  readonly method: string
  /** Below `/api`, as it was requested. */
  readonly path: string
  /** Its parts, decoded. */
  readonly segments: readonly string[]
  readonly query: URLSearchParams
  /** What `Authorization` holds. */
  readonly token: string | undefined
  /** What the session cookie holds. */
  readonly session: string | undefined
  /** The console itself asks, not a page of somebody else that the same browser has open. */
  readonly isFromConsole: boolean
  /** Where the caller is, and what its software says of itself. */
  readonly address: string
  readonly client: string
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
  /** Server-sent events. */
  readonly events?: AsyncIterable<AdminEvent>
  /** A file, piece by piece. */
  readonly file?: { readonly name: string; readonly type: string; readonly parts: AsyncIterable<string> }
  /** A new session, or the end of one, for the cookie. */
  readonly session?: { readonly token: string; readonly seconds: number } | 'ended'
  /** Seconds until another try makes sense. */
  readonly retryAfter?: number
}

export interface AdminEvent {
  readonly event: string
  readonly data: unknown
}

/** Who asks. */
export interface Actor {
  readonly role: 'admin' | 'member'
  /** Undefined for the admin token, which is nobody. */
  readonly user: User | undefined
  readonly sessionId: string | undefined
  /** The cookie of a session that was just extended. */
  readonly renewal: { readonly token: string; readonly seconds: number } | undefined
}

/** `open` to everyone, to everyone who is signed in, or to admins. */
export type Access = 'open' | 'member' | 'admin'

export interface Matched<Deps> {
  readonly call: AdminCall
  /** What stands where the route has a `*`, in order. */
  readonly ids: readonly string[]
  readonly actor: Actor
  readonly deps: Deps
  json(): Promise<unknown>
}

/** A route is its own documentation: `/api/openapi.json` is made of these. */
export interface Route<Deps> {
  readonly access: Access
  readonly summary: string
  /** What may stand in the query, and what it does. */
  readonly query?: Readonly<Record<string, string>>
  readonly body?: z.ZodType
  /** By status; null where an answer has no JSON body. */
  readonly answers: Readonly<Record<number, z.ZodType | null>>
  /** What else an answer may come as, by media type. */
  readonly media?: Readonly<Record<string, z.ZodType>>
  /** Statuses of refusals that do not follow from the rest: see `errorsOf` in openapi.ts. */
  readonly errors?: readonly number[]
  handle(matched: Matched<Deps>): Promise<AdminReply>
}

/** By method and path below `/api`; `*` stands for an id. */
export type Routes<Deps> = Readonly<Record<string, Route<Deps>>>

export const PAGED = { cursor: 'Where the last page ended (`next`).', limit: 'Rows of a page, up to 500.' }

export const ok = (body: unknown): AdminReply => ({ status: 200, body })
export const created = (body: unknown): AdminReply => ({ status: 201, body })
export const done: AdminReply = { status: 204 }

// ── whose data ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** The account that this actor is confined to; undefined for admins. */
export const confinedTo = ({ role, user }: Actor): string | undefined =>
  role === 'admin' ? undefined : (user?.accountId ?? NOBODYS)

/** No account has this id: whoever should be confined and has no account sees nothing. */
const NOBODYS = ''

/** What belongs to somebody else is as good as not there. */
export const maySee = (actor: Actor, accountId: string): boolean => {
  const own = confinedTo(actor)
  return own === undefined || own === accountId
}

export function refuseMembers({ role }: Actor, what: string): void {
  if (role !== 'admin') throw new AdminError(403, 'forbidden', `only an admin may ${what}`)
}
