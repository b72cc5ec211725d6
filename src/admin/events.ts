import { z } from 'zod'
import type { Directory } from '../core/directory.ts'
import type { UsageRow } from '../core/ledger.ts'
import type { People } from '../core/people.ts'
import type { Records } from '../core/records.ts'
import type { Sealer } from '../core/seal.ts'
import type { Catalog } from '../routing/catalog.ts'
import { accountFor, viewAccount } from './accounts.ts'
import type { AccountView, EventViews } from './contract.ts'
import { type Actor, type AdminCall, type AdminEvent, confinedTo, type Matched, type Routes } from './route.ts'
import { Slots } from './slots.ts'
import { refuseUnknown } from './usage-filter.ts'
import { viewUsages } from './usage-view.ts'

export interface EventsDeps {
  readonly directory: Directory
  readonly records: Records
  readonly people: People
  readonly sealer: Sealer
  readonly clock: () => number
  readonly version: string
  catalog(): Catalog
}

/** Each of them asks the store once a second. */
const LISTENERS = new Slots({ what: 'event streams', ofOneMax: 10, ofAllMax: 200 })
const POLL_MS = 1_000
/** More than anyone can read in a second; who wants all of them asks for the list. */
const ROWS_A_TICK_MAX = 100
/** Well below the time after which servers and proxies give up on a silent connection. */
const SILENCE_MS_MAX = 15_000

type Event = { [Name in keyof EventViews]: { readonly event: Name; readonly data: EventViews[Name] } }[keyof EventViews]

async function listen({ call, actor, deps }: Matched<EventsDeps>) {
  refuseUnknown(call.query, ['account'])
  const wanted = call.query.get('account') || confinedTo(actor)
  const accountId = wanted === undefined ? undefined : (await accountFor(actor, wanted, deps.directory)).id
  const leave = LISTENERS.take(actor, call.signal)
  const isWelcome = () => isStillWelcome(actor, call, deps)
  return { status: 200, events: events({ actor, accountId, signal: call.signal, isWelcome, leave }, deps) }
}

/** Who is signed out, shut out or no admin any more hears nothing more. */
async function isStillWelcome({ role, user }: Actor, call: AdminCall, deps: EventsDeps): Promise<boolean> {
  if (user === undefined || call.session === undefined) return true
  const found = await deps.people.session(deps.sealer.sign(call.session), deps.clock())
  return found?.user.role === role && found.user.accountId === user.accountId
}

interface Listener {
  readonly actor: Actor
  /** Undefined for all accounts. */
  readonly accountId: string | undefined
  readonly signal: AbortSignal
  isWelcome(): Promise<boolean>
  readonly leave: () => void
}

async function* events(listener: Listener, deps: EventsDeps): AsyncGenerator<AdminEvent> {
  const { signal, isWelcome, leave } = listener
  try {
    const watch = await Watch.begin(listener, deps)
    yield { event: 'hello', data: { version: deps.version } } satisfies Event
    for (let silent = 0; ; ) {
      await pause(POLL_MS, signal)
      if (signal.aborted || !(await isWelcome())) return
      const news = await watch.look()
      yield* news
      silent = news.length > 0 ? 0 : silent + POLL_MS
      if (silent < SILENCE_MS_MAX) continue
      yield { event: 'ping', data: {} } satisfies Event
      silent = 0
    }
  } finally {
    leave()
  }
}

/**
 * What one listener has seen so far. The store is asked, instead of everyone who writes telling: several processes may work
 * on one database, and a listener of one must hear of what another has done.
 */
class Watch {
  private readonly listener: Listener
  private readonly deps: EventsDeps
  private place = 0
  private catalog: Catalog
  private purse: AccountView | undefined

  static async begin(listener: Listener, deps: EventsDeps): Promise<Watch> {
    const watch = new Watch(listener, deps)
    watch.place = await deps.records.usagePlace()
    watch.purse = await purseOf(listener, deps.directory)
    return watch
  }

  private constructor(listener: Listener, deps: EventsDeps) {
    this.listener = listener
    this.deps = deps
    this.catalog = deps.catalog()
  }

  /** What has happened since the last look. */
  async look(): Promise<Event[]> {
    const catalog = this.deps.catalog()
    const isNew = catalog !== this.catalog
    this.catalog = catalog
    return [...(await this.usage()), ...(isNew ? [{ event: 'catalog', data: {} } as const] : [])]
  }

  private async usage(): Promise<Event[]> {
    const { actor, accountId } = this.listener
    const { records, directory } = this.deps
    const filter = accountId === undefined ? {} : { accountId }
    const { rows, place } = await records.usageSince(this.place, filter, ROWS_A_TICK_MAX)
    const before = this.purse
    this.place = place
    this.purse = await purseOf(this.listener, directory)
    if (rows.length === 0 && !hasChanged(before, this.purse)) return []
    const accounts = await accountsOf(rows, this.purse, directory)
    return [{ event: 'usage', data: { rows: await viewUsages(rows, { actor, directory }), accounts } }]
  }
}

/** Of the account that is listened to, or of who listens to all: top-ups and holds change it without a request. */
async function purseOf({ accountId, actor }: Listener, directory: Directory): Promise<AccountView | undefined> {
  const watched = accountId ?? actor.user?.accountId
  const account = watched === undefined ? undefined : await directory.account(watched)
  return account && viewAccount(account)
}

const hasChanged = (before: AccountView | undefined, now: AccountView | undefined): boolean =>
  before?.balance !== now?.balance || before?.held !== now?.held

async function accountsOf(rows: readonly UsageRow[], purse: AccountView | undefined, directory: Directory) {
  const others = new Set(rows.map(({ accountId }) => accountId).filter(id => id !== purse?.id))
  const accounts = await Promise.all([...others].map(id => directory.account(id)))
  return [...(purse ? [purse] : []), ...accounts.flatMap(account => (account ? [viewAccount(account)] : []))]
}

/** Ends early when the listener leaves. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    if (signal.aborted) end()
    signal.addEventListener('abort', end, { once: true })
  })
}

const STREAM = z
  .string()
  .describe(
    '`hello` first; `usage` with `rows` (UsageView) and `accounts` (AccountView); `catalog` when it has changed.',
  )

export const eventRoutes: Routes<EventsDeps> = {
  'GET /events': {
    access: 'member',
    summary: 'What happens, as it happens: server-sent events `hello`, `usage` and `catalog`',
    query: { account: 'Of this account only; of all if an admin names none.' },
    answers: { 200: null },
    errors: [429, 503],
    media: { 'text/event-stream': STREAM },
    handle: listen,
  },
}
