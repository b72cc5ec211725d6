import type { Closing, HeldCall, HoldRequest } from '../../src/core/ledger.ts'
import { dollars, nanos, pricePerMillion } from '../../src/core/money.ts'
import type { PriceVersion } from '../../src/core/price.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { type DuetOptions, newFolder } from './duet.ts'
import { openStoreOf } from './stores.ts'

/** One request of the past. A token of input costs a millionth of a dollar, one of output four of them. */
export interface PastRequest {
  readonly id: string
  readonly account: string
  readonly key: string
  readonly model: string
  readonly at: number
  readonly status?: string
  readonly channel?: string
  readonly protocol?: HeldCall['protocol']
  readonly input?: number
  readonly output?: number
  readonly firstByteMs?: number
  readonly durationMs?: number
}

/** What there was before a server starts, written by the ledger itself. */
export interface Past {
  /** Account of each key. */
  readonly keys: Readonly<Record<string, string>>
  readonly balance: number
  readonly at: number
  readonly requests: readonly PastRequest[]
}

/** The options of a server that has this past. */
export async function withPast({ keys, balance, at, requests }: Past): Promise<DuetOptions> {
  const folder = newFolder()
  const store = await openStoreOf(folder)
  const ledger = new Ledger(store.ledger, { owner: 'before', clock: () => at })
  for (const id of new Set(Object.values(keys))) {
    await store.directory.createAccount({ id, name: `name of ${id}`, group: 'default', createdAt: at })
    const amount = dollars(balance)
    await ledger.deposit({ kind: 'topup', accountId: id, amount, source: 'x', note: 'first', at })
  }
  for (const [id, accountId] of Object.entries(keys)) {
    const limits = { cap: undefined, models: undefined, expiresAt: undefined }
    const names = { id, accountId, name: `name of ${id}`, secretHash: id, hint: '' }
    await store.directory.createKey({ ...names, createdAt: at + 1, ...limits })
  }
  const [input, output] = [pricePerMillion(1), pricePerMillion(4)]
  const price = { input, output, cacheRead: input, cacheWrite: input }
  const models = [...new Set(requests.map(({ model }) => model))]
  const prices = await store.prices.publish(
    models.map(model => ({ model, price })),
    at,
  )
  const priceOf = ({ model }: PastRequest) => prices.get(model) as PriceVersion
  for (let place = 0; place < requests.length; place += AT_ONCE) {
    const some = requests.slice(place, place + AT_ONCE).map(request => whatCame(request, priceOf(request)))
    await Promise.all(some.map(({ hold }) => ledger.hold(hold)))
    await Promise.all(some.map(({ closing }) => ledger.settle(closing)))
  }
  await store.close()
  return { folder }
}

/** Requests that are written together, in their order: one by one would be a question to the database each. */
const AT_ONCE = 20

function whatCame(request: PastRequest, price: PriceVersion): { hold: HoldRequest; closing: Closing } {
  const { status = 'ok', channel = 'main', protocol = 'chat', input = 0, output = 0 } = request
  const call: HeldCall = {
    ...{ model: request.model, channel, protocol, upstreamProtocol: protocol, stream: false, priceId: price.id },
  }
  const who = { requestId: request.id, accountId: request.account, keyId: request.key, call }
  const hold = { ...who, most: nanos(5_000_000n), least: nanos(1n), at: request.at }
  const closing: Closing = {
    ...{ ...who, price, status, ending: status === 'ok' ? 'stop' : undefined, source: 'upstream' },
    ...(status === 'ok' ? {} : { error: `it was ${status}` }),
    usage: { input, cacheRead: 0, cacheWrite: 0, output, reasoning: 0 },
    ...{ startedAt: request.at, firstByteMs: request.firstByteMs, durationMs: request.durationMs ?? 1_000 },
  }
  return { hold, closing }
}
