import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../support/duet.ts'
import { CHAT, post, send, user } from '../support/http.ts'
import { logged } from '../support/log.ts'
import { DATABASE_PASSWORD, type PostgresServer, startPostgres } from '../support/postgres.ts'
import { parseMetrics } from '../support/prometheus.ts'
import { type SandboxProcess, startSandbox } from '../support/sandbox.ts'
import { eventually, expectError, newCaller } from '../support/wire.ts'
import { Crowd } from './crowd.ts'
import { expectOutgrown } from './outgrown.ts'
import { REPORTED, relayed } from './said.ts'
import {
  booksOf,
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
} from './support.ts'
import { expectBillsAsTold, expectInterruptedFree } from './told.ts'
import { begin, expectSettled, gatedUpstream, type Plan } from './underway.ts'

/** The database goes away under a running server, and comes back: a real PostgreSQL, which nobody else uses. */

const TEST_MS_MAX = 60_000
const BACK_MS_MAX = 20_000
const UNAVAILABLE = { status: 503, code: 'ledger_unavailable' }

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgres()
}, TEST_MS_MAX)
afterAll(() => postgres.stop(), TEST_MS_MAX)

async function startOnPostgres(config: string, more: Readonly<Record<string, string>> = {}): Promise<Duet> {
  const shared = { DUET_DATABASE_URL: await postgres.newDatabase(), DUET_SECRET: 'secret-of-all-replicas' }
  return startDuet({ config, env: { ...shared, ...more } })
}

const readiness = async (duet: Duet) => {
  const response = await fetch(`${duet.url}/health/ready`)
  return { status: response.status, body: await response.json() }
}

const becomes = (duet: Duet, wanted: number) =>
  eventually(
    () => readiness(duet),
    ({ status }) => status === wanted,
    BACK_MS_MAX,
  )

const scrape = async (duet: Duet) => parseMetrics(await (await fetch(`${duet.url}/metrics`)).text())

const ENDS_WHOLE: Plan = {
  name: 'an answer whose end comes while the database is away is delivered whole when it is back',
  ways: WAYS,
  says: 'Wait.',
  async hears(listener) {
    const { status, text } = await listener.readAll()
    expect([status, text.includes('"cost"'), text.includes('ledger_unavailable')]).toEqual([200, true, false])
  },
  bill: () => ({ status: 'ok', ending: 'stop', source: 'upstream', tokens: REPORTED }),
}

const LEAVES: Plan = {
  name: 'a client that leaves meanwhile pays for what was relayed',
  ways: STREAMED,
  says: 'Stay.',
  hears: async listener => listener.leave(),
  bill: (way, request) => relayed('client_gone', way, request),
}

describe('a database that crashes', () => {
  test(
    'costs no answer under way its end, and no charge is lost or made twice',
    async () => {
      const upstream = gatedUpstream()
      const duet = await startOnPostgres(stageConfig(upstream.base))
      const begun = await begin(duet, upstream, [ENDS_WHOLE, LEAVES])
      await postgres.kill()
      upstream.goOn()
      for (const { plan, listener } of begun) if (plan === LEAVES) listener.leave()

      const waiting = async () => (await scrape(duet)).value('duet_settlements_waiting')
      expect(await eventually(waiting, count => count === begun.length, BACK_MS_MAX)).toBe(begun.length)
      await postgres.restart('immediate')
      for (const { plan, listener, way } of begun) if (plan === ENDS_WHOLE) await plan.hears(listener, way)
      expect(await eventually(waiting, count => count === 0, BACK_MS_MAX)).toBe(0)
      await expectSettled(duet, begun)
      expect(await duet.stop()).toBe(0)
      await upstream.stop()
    },
    TEST_MS_MAX,
  )

  test(
    'refuses new calls and says so, to those whose key is known and to everyone else, until it is back',
    async () => {
      const upstream = gatedUpstream()
      const duet = await startOnPostgres(stageConfig(upstream.base))
      const { account, key } = await newCaller(duet)
      const ask = (way = WAYS[0] as (typeof WAYS)[number], as = key) =>
        post(duet, pathOf(way), requestFor(way, 'Hello'), { key: as })
      expect((await ask()).status).toBe(200)
      await postgres.kill()

      for (const way of WAYS) {
        const refused = await ask(way)
        expectError(refused, { ...UNAVAILABLE, protocol: way.client })
        expect(refused.headers.get('retry-after')).toBe('1')
        // Nobody here knows whether there is such a key.
        expectError(await ask(way, 'sk-duet-nobody-has-ever-seen-this-one'), { ...UNAVAILABLE, protocol: way.client })
      }
      expect((await send(duet, '/v1/models', { key })).status).toBe(200)
      expect(await becomes(duet, 503)).toEqual({
        status: 503,
        body: { status: 'unavailable', ledger: 'unavailable' },
      })
      expect((await fetch(`${duet.url}/health/live`)).status).toBe(200)
      expect((await scrape(duet)).value('duet_ledger_available')).toBe(0)
      for (const [method, path] of [
        ['GET', '/api/accounts'],
        ['POST', `/api/accounts/${account}/topups`],
      ] as const) {
        const answer = await duet.admin(method, path, method === 'POST' ? { amount: '1', source: 'a' } : undefined)
        expect(answer).toMatchObject({ status: 503, body: { error: { code: 'ledger_unavailable' } } })
      }
      expect(upstream.requests).toHaveLength(1)

      await postgres.restart('immediate')
      expect(await becomes(duet, 200)).toEqual({ status: 200, body: { status: 'ok' } })
      expect((await scrape(duet)).value('duet_ledger_available')).toBe(1)
      expect((await ask()).status).toBe(200)
      expect((await ask(WAYS[0], 'sk-duet-nobody-has-ever-seen-this-one')).status).toBe(401)
      const books = await settledBooks(duet, account, 2)
      expectSound(books)
      expect(nanosOf(books.account.spent)).toBe(costOf(REPORTED) * 2n)
      await expectVerified(duet)

      expect(logged(duet, 'the database is away: new calls are refused until it is back')).toHaveLength(1)
      expect(logged(duet, 'the database is back')).toHaveLength(1)
      expect(duet.output()).not.toContain(DATABASE_PASSWORD)
      await duet.stop()
      await upstream.stop()
    },
    TEST_MS_MAX,
  )

  test(
    'stops no stream: one that outgrows its hold goes on, and is charged for all of it',
    () =>
      expectOutgrown({
        start: startOnPostgres,
        leave: () => postgres.kill(),
        comeBack: () => postgres.restart('immediate'),
      }),
    TEST_MS_MAX,
  )

  test(
    'does not keep a server from stopping, which says what it could not write; the next one gives it back',
    async () => {
      const upstream = gatedUpstream()
      const duet = await startOnPostgres(stageConfig(upstream.base), { DUET_DRAIN_SECONDS: '2' })
      const begun = await begin(duet, upstream, [{ ...ENDS_WHOLE, ways: STREAMED }])
      await postgres.kill()
      upstream.goOn()
      expect(await duet.stop()).toBe(1)
      expect(logged(duet, 'settlements could not be written')).toMatchObject([{ settlements: begun.length }])
      await postgres.restart('immediate')
      const again = await duet.restart()
      const openHolds = async () => (await again.admin('GET', '/api/ledger/verify')).body.open_holds
      expect(await eventually(openHolds, holds => holds === 0, TEST_MS_MAX)).toBe(0)
      const interrupted = { status: 'interrupted', ending: null, source: 'estimated', tokens: {} } as const
      await expectSettled(again, begun, interrupted)
      await again.stop()
      await upstream.stop()
    },
    2 * TEST_MS_MAX,
  )
})

describe('a database in trouble under load', () => {
  const CLIENTS = 20
  const ANSWERS_MIN = 40

  let sandbox: SandboxProcess
  beforeAll(async () => {
    sandbox = await startSandbox()
  })
  afterAll(() => sandbox.stop())

  const TROUBLES: readonly { readonly name: string; make(): Promise<void> }[] = [
    {
      name: 'is frozen for five seconds',
      async make() {
        postgres.freeze()
        await Bun.sleep(5_000)
        postgres.thaw()
      },
    },
    {
      name: 'drops all connections, again and again',
      async make() {
        for (let round = 0; round < 5; round++) {
          await postgres.dropConnections()
          await Bun.sleep(200)
        }
      },
    },
    { name: 'is restarted, without a word to anyone', make: () => postgres.restart('immediate') },
  ]

  for (const { name, make } of TROUBLES) {
    test(
      `that ${name}: every answer that a client holds is charged once, and nobody is told that it may not`,
      async () => {
        const duet = await startOnPostgres(stageConfig(sandbox.url))
        const { account, key } = await newCaller(duet, { balance: '1000' })
        const crowd = new Crowd({ clients: CLIENTS, requestsMax: 1_000, key: () => key })
        const answers = (more: number, since = crowd.heard.length) =>
          eventually(
            () => crowd.heard.filter(({ ending }, place) => place >= since && ending === 'whole').length,
            heard => heard >= more,
            BACK_MS_MAX,
          )
        crowd.goOn(duet)
        expect(await answers(ANSWERS_MIN)).toBeGreaterThanOrEqual(ANSWERS_MIN)
        await make()
        expect(await answers(ANSWERS_MIN)).toBeGreaterThanOrEqual(ANSWERS_MIN)
        await crowd.end(duet)

        const { status } = await becomes(duet, 200)
        expect(status).toBe(200)
        const openHolds = async () => (await duet.admin('GET', '/api/ledger/verify')).body.open_holds
        expect(await eventually(openHolds, holds => holds === 0, BACK_MS_MAX)).toBe(0)
        const books = await booksOf(duet, account)
        expectSound(books)
        expectBillsAsTold(crowd.heard, [books])
        expectInterruptedFree([books])
        expect(crowd.heard.filter(heard => heard.status === 401 || heard.status === 403)).toEqual([])
        expect(crowd.unanswered).toBe(0)
        await expectVerified(duet)
        expect(await duet.stop()).toBe(0)
      },
      TEST_MS_MAX,
    )
  }
})

describe('a start', () => {
  const SHARED = { DUET_SECRET: 'secret-of-all-replicas' }

  test(
    'waits for a database that is not there yet',
    async () => {
      const url = await postgres.newDatabase()
      await postgres.kill()
      const starting = startDuet({ env: { ...SHARED, DUET_DATABASE_URL: url } })
      await Bun.sleep(2_000)
      await postgres.restart('immediate')
      const duet = await starting
      expect(logged(duet, 'waiting for the database')).toMatchObject([{ level: 'info', up_to_seconds: 60 }])
      expect((await post(duet, CHAT, { model: 'openai/gpt-4.1', messages: user('Hi') })).status).toBe(200)
      expect(duet.output()).not.toContain(DATABASE_PASSWORD)
      expect(await duet.stop()).toBe(0)
    },
    TEST_MS_MAX,
  )
})
