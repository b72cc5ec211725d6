import { describe, expect, test } from 'bun:test'
import type { Duet } from '../support/duet.ts'
import { post } from '../support/http.ts'
import { brokenEnd, eventually, expectError, newCaller } from '../support/wire.ts'
import type { Bill } from './bills.ts'
import { canLimit, type LimitedDuet, startLimited } from './limited.ts'
import { expectOutgrown } from './outgrown.ts'
import { REPORTED, relayed, TEXT } from './said.ts'
import {
  costOf,
  expectSound,
  expectVerified,
  nanosOf,
  pathOf,
  requestFor,
  STREAMED,
  settledBooks,
  stageConfig,
  WAYS,
  type Way,
  WHOLE,
} from './support.ts'
import {
  begin,
  expectSettled,
  expectUpstreamLeft,
  type GatedUpstream,
  gatedUpstream,
  type Plan,
  type UnderWay,
} from './underway.ts'

/** The ledger cannot be written: real writes fail, because no file of the server may grow. */

/** Overdue settlements are tried again every 20 seconds. */
const TENDED_MS_MAX = 25_000
const TEST_MS_MAX = 60_000

const UNAVAILABLE = { status: 503, code: 'ledger_unavailable' }
const UNDELIVERED: Bill = { status: 'ledger_unavailable', ending: null, source: 'estimated', tokens: {} }

const PLANS: readonly Plan[] = [
  {
    name: 'a whole answer that cannot be settled is not delivered, and costs nothing',
    ways: WHOLE,
    says: 'Wait.',
    async hears(listener, { client }) {
      const answer = await listener.readAll()
      expectError(answer, { ...UNAVAILABLE, protocol: client })
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(answer.text).not.toContain(TEXT)
    },
    bill: () => UNDELIVERED,
  },
  {
    name: 'a stream that cannot be settled ends in an error, and costs what was relayed',
    ways: STREAMED,
    says: 'Wait.',
    async hears(listener, { client }) {
      const { status, text } = await listener.readAll()
      expect([status, brokenEnd(client, text)?.code]).toEqual([200, 'ledger_unavailable'])
    },
    bill: () => ({ ...UNDELIVERED, source: 'upstream', tokens: REPORTED }),
  },
  {
    name: 'a client that leaves meanwhile pays for what was relayed',
    ways: STREAMED,
    says: 'Stay.',
    hears: async listener => listener.leave(),
    bill: (way, request) => relayed('client_gone', way, request),
  },
  {
    name: 'an upstream that fails meanwhile costs nothing',
    ways: WAYS,
    says: 'Fail.',
    hears: async listener => expect((await listener.readAll()).status).toBeGreaterThanOrEqual(500),
    bill: () => ({ ...UNDELIVERED, status: 'upstream_error' }),
  },
]

const AT_ONCE: Plan = {
  name: 'a stream that cannot be settled before its first byte is not delivered, and costs nothing',
  ways: STREAMED,
  says: 'Gulp.',
  async hears(listener, { client }) {
    expectError(await listener.readAll(), { ...UNAVAILABLE, protocol: client })
  },
  bill: () => UNDELIVERED,
}

interface Trouble {
  readonly duet: LimitedDuet
  readonly upstream: GatedUpstream
  readonly begun: readonly UnderWay[]
}

/** All plans are under way when the disk is full; then the upstream goes on. */
async function makeTrouble(plans: readonly Plan[]): Promise<Trouble> {
  const upstream = gatedUpstream()
  const duet = await startLimited(stageConfig(upstream.base))
  const begun = await begin(duet, upstream, plans)
  duet.fill()
  upstream.goOn()
  for (const { plan, listener, way } of begun) await plan.hears(listener, way)
  // They learn of it when the settlement of a client that has left was tried.
  await expectUpstreamLeft(upstream)
  return { duet, upstream, begun }
}

async function expectServes(duet: Duet): Promise<void> {
  const caller = await newCaller(duet)
  for (const way of WAYS) {
    const { status } = await post(duet, pathOf(way), requestFor(way, 'Hello'), { key: caller.key })
    expect(status).toBe(200)
  }
  const books = await settledBooks(duet, caller.account, WAYS.length)
  expectSound(books)
  expect(nanosOf(books.account.spent)).toBe(costOf(REPORTED) * BigInt(WAYS.length))
}

/** Each has a server of its own, and one has to wait for long: they run at the same time. */
const trial = (name: string, run: () => Promise<void>): void => test.concurrent(name, run, TEST_MS_MAX)

describe.if(canLimit)('a ledger that cannot be written', () => {
  trial('admits nobody: no upstream is called, and no trace is left', async () => {
    const upstream = gatedUpstream()
    const duet = await startLimited(stageConfig(upstream.base))
    const caller = await newCaller(duet)
    const ask = (way: Way) => post(duet, pathOf(way), requestFor(way, 'Hello'), { key: caller.key })
    const topUp = () =>
      duet.admin('POST', `/api/accounts/${caller.account}/topups`, { amount: '5', source: 'invoice 7' })
    duet.fill()
    for (const way of WAYS) {
      const answer = await ask(way)
      expectError(answer, { ...UNAVAILABLE, protocol: way.client })
      expect(answer.headers.get('retry-after')).toBe('1')
    }
    expect(await topUp()).toMatchObject({ status: 503, body: { error: { code: 'ledger_unavailable' } } })
    expect(upstream.requests).toHaveLength(0)

    duet.empty()
    for (const way of WAYS) expect((await ask(way)).status).toBe(200)
    expect((await topUp()).status).toBe(201)
    const books = await settledBooks(duet, caller.account, WAYS.length)
    expectSound(books)
    expect(books.rows.map(({ status }) => status)).toEqual(WAYS.map(() => 'ok'))
    expect(nanosOf(books.account.balance)).toBe(nanosOf('15.00') - costOf(REPORTED) * BigInt(WAYS.length))
    await expectVerified(duet)
    await duet.stop()
    await upstream.stop()
  })

  trial('settles what is overdue by itself when it can be written again', async () => {
    const { duet, upstream, begun } = await makeTrouble(PLANS)
    duet.empty()
    await expectServes(duet)
    await eventually(
      async () => (await duet.admin('GET', '/api/ledger/verify')).body.open_holds,
      holds => holds === 0,
      TENDED_MS_MAX,
    )
    await expectSettled(duet, begun)
    await expectServes(duet)
    await duet.stop()
    await upstream.stop()
  })

  trial('settles what is overdue before it stops', async () => {
    const { duet, upstream, begun } = await makeTrouble(PLANS)
    duet.empty()
    expect(await duet.stop()).toBe(0)
    const again = await duet.restart()
    await expectSettled(again, begun)
    await expectServes(again)
    await again.stop()
    await upstream.stop()
  })

  trial('leaves interrupted calls, which cost nothing, if it is not before the server has stopped', async () => {
    const { duet, upstream, begun } = await makeTrouble(PLANS)
    await duet.stop()
    const again = await duet.restart()
    await expectSettled(again, begun, { ...UNDELIVERED, status: 'interrupted' })
    await expectServes(again)
    await again.stop()
    await upstream.stop()
  })

  trial(AT_ONCE.name, async () => {
    const { duet, upstream, begun } = await makeTrouble([AT_ONCE])
    duet.empty()
    expect(await duet.stop()).toBe(0)
    const again = await duet.restart()
    await expectSettled(again, begun)
    await again.stop()
    await upstream.stop()
  })

  trial('stops no stream: one that outgrows its hold goes on, and is charged for all of it', () =>
    expectOutgrown({ start: startLimited, leave: duet => duet.fill(), comeBack: duet => duet.empty() }),
  )
})
