import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { AccountView } from '../../src/admin/contract.ts'
import { STORE } from '../support/databases.ts'
import { type Duet, startDuet } from '../support/duet.ts'
import { type SandboxProcess, startSandbox } from '../support/sandbox.ts'
import { eventually, newCaller } from '../support/wire.ts'
import { Crowd, type Heard } from './crowd.ts'
import {
  type Books,
  booksOf,
  costOf,
  dollarsOf,
  expectSound,
  expectVerified,
  nanosOf,
  stageConfig,
  verifyCommand,
} from './support.ts'
import { expectBillsAsTold, expectInterruptedFree, interruptedIn } from './told.ts'

const KILLS = STORE === 'sqlite' ? 20 : 5
const CLIENTS = 100
/** Far more than anybody gets to ask in the time. */
const REQUESTS_A_CLIENT_MAX = 1_000
const TEST_MS_MAX = 180_000
/**
 * On PostgreSQL a start cannot know that the process before it is dead. Its holds are released when its lease is over, by a
 * process that has had its own for as long.
 */
const RECOVERED_MS_MAX = 60_000

/** For a few requests at a time, and not for all that are made at once: some of them are refused in every round. */
const ALLOWANCE = costOf({ output: 500 })
/** No kill comes before so many answers of its round are there, however slow the machine is. */
const ANSWERS_A_ROUND_MIN = 20
const ROUND_MS_MAX = 60_000

const NOTHING_HELD = ['0.00', '0.00', '0.00', '0.00']

/** It outlives the kills. */
let sandbox: SandboxProcess
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.stop())

const TITLE = `kill -9, ${KILLS} times under ${CLIENTS} clients: every answer that a client holds whole is charged once`

test(
  `${TITLE}, entries sum to balances, and no hold is left`,
  async () => {
    let duet = await startDuet({ config: stageConfig(sandbox.url) })
    const rich = await newCaller(duet, { balance: '1000' })
    const capped = await newCaller(duet, { balance: '1000', cap: '0' })
    const poor = await newCaller(duet, { balance: '0' })
    const keys = [rich, rich, rich, rich, rich, rich, capped, poor].map(({ key }) => key)
    const crowd = new Crowd({
      clients: CLIENTS,
      requestsMax: REQUESTS_A_CLIENT_MAX,
      key: client => keys[client % keys.length] ?? '',
    })

    for (let kill = 1; kill <= KILLS; kill++) {
      await allow(duet, kill, { capped: capped.keyId, poor: poor.account })
      const before = wholeIn(crowd)
      crowd.goOn(duet)
      await eventually(
        () => wholeIn(crowd) - before,
        whole => whole >= ANSWERS_A_ROUND_MIN && crowd.asking > CLIENTS * 0.7,
        ROUND_MS_MAX,
      )
      await Bun.sleep(150 + Math.random() * 450)
      crowd.wait()
      await duet.stop('SIGKILL')
      duet = await duet.restart()
      if (STORE === 'sqlite') expect(await heldIn(duet)).toEqual(NOTHING_HELD)
    }
    await crowd.end(duet)
    if (STORE === 'postgres') {
      const released = (held: readonly string[]) => held.every(amount => amount === '0.00')
      await eventually(() => heldIn(duet), released, RECOVERED_MS_MAX)
      expect(await heldIn(duet)).toEqual(NOTHING_HELD)
    }

    const accounts = await Promise.all([rich, capped, poor].map(({ account }) => booksOf(duet, account)))
    expectMuchWasTried(crowd, accounts)
    for (const books of accounts) {
      expectSound(books)
      expect(books.entries.filter(({ balance }) => nanosOf(balance) < 0n)).toEqual([])
    }
    expectBillsAsTold(crowd.heard, accounts)
    expectInterruptedFree(accounts)
    const { body: key } = await duet.admin('GET', `/api/keys/${capped.keyId}`)
    expect(nanosOf(key.spent)).toBeLessThanOrEqual(nanosOf(key.cap))

    const verified = await expectVerified(duet)
    expect(await duet.stop()).toBe(0)
    expect(await verifyCommand(duet.folder)).toEqual(verified)
  },
  TEST_MS_MAX,
)

/** Refusals need no upstream: they are there long before the first answer where everything is slow. */
const wholeIn = ({ heard }: Crowd): number => heard.filter(({ ending }) => ending === 'whole').length

/** Money from outside goes through the same ledger. */
async function allow(duet: Duet, round: number, { capped, poor }: { capped: string; poor: string }): Promise<void> {
  const { body: key } = await duet.admin('GET', `/api/keys/${capped}`)
  const cap = dollarsOf(nanosOf(key.spent) + ALLOWANCE)
  expect((await duet.admin('PATCH', `/api/keys/${capped}`, { cap })).status).toBe(200)

  const { body: account } = await duet.admin('GET', `/api/accounts/${poor}`)
  const amount = ALLOWANCE - nanosOf(account.balance)
  if (amount === 0n) return
  const topUp = { amount: dollarsOf(amount), source: `round ${round}` }
  expect((await duet.admin('POST', `/api/accounts/${poor}/topups`, topUp)).status).toBe(201)
}

async function heldIn(duet: Duet): Promise<readonly string[]> {
  const { body } = await duet.admin('GET', '/api/accounts')
  return body.data.map(({ held }: AccountView) => held)
}

/** A test that tried little would prove little: the kills must have found requests on every part of their way. */
function expectMuchWasTried({ heard, unanswered }: Crowd, accounts: readonly Books[]): void {
  const ended = (how: Heard['ending']) => heard.filter(({ ending }) => ending === how).length
  const tried = {
    whole: ended('whole'),
    cut: ended('cut'),
    unanswered,
    refused: heard.filter(({ status }) => status === 403).length,
    interrupted: interruptedIn(accounts).length,
  }
  const atLeast = {
    whole: KILLS * ANSWERS_A_ROUND_MIN,
    cut: KILLS / 2,
    unanswered: KILLS,
    refused: KILLS,
    interrupted: KILLS,
  }
  const tooFew = Object.entries(atLeast).filter(([what, least]) => tried[what as keyof typeof tried] < least)
  expect(tooFew, `what was tried: ${JSON.stringify(tried)}`).toEqual([])
}
