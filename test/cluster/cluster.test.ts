import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { AccountView } from '../../src/admin/contract.ts'
import { LEASE_MS, TEND_MS } from '../../src/core/leases.ts'
import { Crowd, type Heard } from '../faults/crowd.ts'
import {
  type Books,
  booksOf,
  costOf,
  dollarsOf,
  expectSound,
  expectVerified,
  nanosOf,
  stageConfig,
} from '../faults/support.ts'
import { expectBillsAsTold, expectInterruptedFree, interruptedIn } from '../faults/told.ts'
import type { Duet } from '../support/duet.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { type SandboxProcess, startSandbox } from '../support/sandbox.ts'
import { eventually, newCaller } from '../support/wire.ts'
import { Fleet } from './fleet.ts'

const REPLICAS = 3
const CLIENTS = 200
/** Far more than anybody gets to ask in the time. */
const REQUESTS_A_CLIENT_MAX = 1_000
const TEST_MS_MAX = 240_000
/** What a test that is too patient would hide: an owner's lease is over long before. */
const RECOVERED_MS_MAX = 60_000

const FREEZE_MS = 5_000
/** Until everybody takes it for dead, and has released what it held. */
const REPLICA_FREEZE_MS = LEASE_MS + 2 * TEND_MS
const ROUNDS = 3

/** For a few requests at a time, and not for all that are made at once: some of them are refused in every round. */
const ALLOWANCE = costOf({ output: 2_000 })
/** No disturbance comes before so many answers since the last one, however slow the machine is. */
const ANSWERS_BETWEEN_MIN = 100

let postgres: PostgresServer
/** The upstream; it outlives everything else. */
let sandbox: SandboxProcess
beforeAll(async () => {
  ;[postgres, sandbox] = await Promise.all([startPostgres({ fsync: true }), startSandbox()])
}, 60_000)
afterAll(async () => {
  sandbox.stop()
  await postgres.stop()
})

const TITLE = `${REPLICAS} replicas under ${CLIENTS} clients, killed, and their database restarted, frozen and cut off`

test(
  `${TITLE}: every answer that a client holds whole is charged once, and the books are right`,
  async () => {
    const fleet = await startFleet()
    const rich = await newCaller(fleet.any, { balance: '1000' })
    const capped = await newCaller(fleet.any, { balance: '1000', cap: '0' })
    const poor = await newCaller(fleet.any, { balance: '0' })
    const callers = [rich, rich, rich, rich, rich, rich, capped, poor]
    const crowd = new Crowd({
      clients: CLIENTS,
      requestsMax: REQUESTS_A_CLIENT_MAX,
      key: client => callers[client % callers.length]?.key ?? '',
    })
    crowd.goOn(fleet)

    const disturbances = [
      () => fleet.killOne(500),
      () => postgres.restart('immediate'),
      () => freeze(postgres),
      () => fleet.killOne(1_000),
      () => postgres.dropConnections(),
    ]
    for (let round = 1; round <= ROUNDS; round++) {
      for (const disturb of disturbances) {
        await allow(fleet, { capped: capped.keyId, poor: poor.account })
        await answersOf(crowd, ANSWERS_BETWEEN_MIN)
        await disturb()
      }
    }
    await answersOf(crowd, ANSWERS_BETWEEN_MIN)
    await crowd.end(fleet)

    expect(await nothingHeld(fleet)).toEqual([])
    const accounts = await Promise.all([rich, capped, poor].map(({ account }) => booksOf(fleet.any, account)))
    expectMuchWasTried(crowd, accounts)
    for (const books of accounts) expectSound(books)
    expectBillsAsTold(crowd.heard, accounts)
    expectInterruptedFree(accounts)
    expectRightlyRefused(crowd.heard, client => callers[client % callers.length] === rich)

    const { body: key } = await fleet.any.admin('GET', `/api/keys/${capped.keyId}`)
    const dearest = accounts.flatMap(({ rows }) => rows).reduce((most, { cost }) => bigger(most, nanosOf(cost)), 0n)
    expect(nanosOf(key.spent)).toBeLessThanOrEqual(nanosOf(key.cap) + dearest)

    await expectVerified(fleet.any)
    expect(await fleet.stop()).toEqual(Array.from({ length: REPLICAS }, () => 0))
  },
  TEST_MS_MAX,
)

test(
  'a replica that was taken for dead and was not charges what it delivers, although its holds were released meanwhile',
  async () => {
    const fleet = await startFleet()
    const rich = await newCaller(fleet.any, { balance: '1000' })
    const crowd = new Crowd({ clients: CLIENTS, requestsMax: REQUESTS_A_CLIENT_MAX, key: () => rich.key })
    crowd.goOn(fleet)
    await answersOf(crowd, ANSWERS_BETWEEN_MIN)
    await fleet.freezeOne(REPLICA_FREEZE_MS)
    await answersOf(crowd, ANSWERS_BETWEEN_MIN)
    await crowd.end(fleet)

    expect(await nothingHeld(fleet)).toEqual([])
    const books = await booksOf(fleet.any, rich.account)
    expectSound(books)
    expectBillsAsTold(crowd.heard, [books])
    expectInterruptedFree([books])
    expectRightlyRefused(crowd.heard, () => true)
    await expectVerified(fleet.any)
    expect(await fleet.stop()).toEqual(Array.from({ length: REPLICAS }, () => 0))
  },
  TEST_MS_MAX,
)

async function startFleet(): Promise<Fleet> {
  const env = { DUET_DATABASE_URL: await postgres.newDatabase(), DUET_SECRET: 'the-secret-that-all-replicas-share' }
  return Fleet.start(REPLICAS, { config: stageConfig(sandbox.url), env })
}

/** What is still held when every lease must be over. */
async function nothingHeld(fleet: Fleet): Promise<readonly string[]> {
  const deadline = Date.now() + RECOVERED_MS_MAX
  for (;;) {
    const { body } = await asked(fleet, 'GET', '/api/accounts')
    const held = body.data.map((account: AccountView) => account.held).filter((amount: string) => amount !== '0.00')
    if (held.length === 0 || Date.now() > deadline) return held
    await Bun.sleep(250)
  }
}

const bigger = (a: bigint, b: bigint): bigint => (a > b ? a : b)

async function freeze(server: PostgresServer): Promise<void> {
  server.freeze()
  await Bun.sleep(FREEZE_MS)
  server.thaw()
}

/** Money from outside goes through the same ledger, and through whichever replica answers. */
async function allow(fleet: Fleet, { capped, poor }: { capped: string; poor: string }): Promise<void> {
  const { body: key } = await asked(fleet, 'GET', `/api/keys/${capped}`)
  await asked(fleet, 'PATCH', `/api/keys/${capped}`, { cap: dollarsOf(nanosOf(key.spent) + ALLOWANCE) })
  const source = crypto.randomUUID()
  await asked(fleet, 'POST', `/api/accounts/${poor}/topups`, { amount: dollarsOf(ALLOWANCE), source })
}

/** A management call is repeated until it is answered: the database may just have come back. */
async function asked(fleet: Fleet, ...[method, path, body]: Parameters<Duet['admin']>) {
  const answer = await eventually(
    () => fleet.any.admin(method, path, body).catch(() => undefined),
    given => given !== undefined && given.status < 300,
    RECOVERED_MS_MAX,
  )
  if (!answer) throw new Error(`${method} ${path} was not answered`)
  return answer
}

async function answersOf(crowd: Crowd, count: number): Promise<void> {
  const whole = () => crowd.heard.filter(({ ending }) => ending === 'whole').length
  const before = whole()
  await eventually(whole, now => now - before >= count, RECOVERED_MS_MAX)
}

/** A test that tried little would prove little: each kind of disturbance must have found requests on their way. */
function expectMuchWasTried({ heard, unanswered }: Crowd, accounts: readonly Books[]): void {
  const ended = (how: Heard['ending']) => heard.filter(({ ending }) => ending === how).length
  const tried = {
    whole: ended('whole'),
    unanswered,
    cut: ended('cut'),
    shortOfMoney: heard.filter(({ status }) => status === 403).length,
    ledgerAway: heard.filter(({ status }) => status === 503).length,
    interrupted: interruptedIn(accounts).length,
  }
  const disturbed = ROUNDS * 5
  const atLeast = {
    ...{ whole: disturbed * ANSWERS_BETWEEN_MIN, unanswered: ROUNDS, cut: ROUNDS },
    ...{ shortOfMoney: disturbed, ledgerAway: ROUNDS, interrupted: ROUNDS },
  }
  const tooFew = Object.entries(atLeast).filter(([what, least]) => tried[what as keyof typeof tried] < least)
  expect(tooFew, `what was tried: ${JSON.stringify(tried)}`).toEqual([])
}

/** No key was ever unknown, and who has money is never told otherwise, whatever becomes of the database. */
function expectRightlyRefused(heard: readonly Heard[], isRich: (client: number) => boolean): void {
  expect(heard.filter(({ status }) => status === 401)).toEqual([])
  expect(heard.filter(({ status, client }) => status === 403 && isRich(client))).toEqual([])
}
