import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { AccountView, UsageView } from '../../src/admin/contract.ts'
import { type Duet, newFolder, startDuet } from '../support/duet.ts'
import { eventually, newCaller } from '../support/wire.ts'
import { Crowd, type Heard } from './crowd.ts'
import {
  type Books,
  booksOf,
  chargesIn,
  costOf,
  dollarsOf,
  expectSound,
  expectVerified,
  nanosOf,
  stageConfig,
  verifyCommand,
} from './support.ts'

const KILLS = 20
const CLIENTS = 100
/** Far more than anybody gets to ask in the time. */
const REQUESTS_A_CLIENT_MAX = 1_000
const TEST_MS_MAX = 90_000

/** For a few requests at a time, and not for all that are made at once: some of them are refused in every round. */
const ALLOWANCE = costOf({ output: 500 })
/** No kill comes before so many answers of its round are over, however slow the machine is. */
const ANSWERS_A_ROUND_MIN = 20

/** An upstream that outlives the kills, in a process of its own so that the clients have theirs to themselves. */
const startSandbox = () =>
  Bun.spawn([join(import.meta.dir, '../../bin/duet'), 'sandbox', '--port', '0'], {
    cwd: newFolder(),
    stdout: 'pipe',
    stderr: 'ignore',
  })

let sandbox: ReturnType<typeof startSandbox>
let upstream = ''
beforeAll(async () => {
  sandbox = startSandbox()
  let printed = ''
  for await (const chunk of sandbox.stdout) {
    printed += new TextDecoder().decode(chunk)
    if (printed.includes('\n')) break
  }
  upstream = /http:\/\/\S+/.exec(printed)?.[0] ?? ''
})
afterAll(() => sandbox.kill('SIGKILL'))

const TITLE = `kill -9, ${KILLS} times under ${CLIENTS} clients: every answer that a client holds whole is charged once`

test(
  `${TITLE}, entries sum to balances, and no hold is left`,
  async () => {
    let duet = await startDuet({ config: stageConfig(upstream) })
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
      const before = crowd.heard.length
      crowd.goOn(duet)
      await eventually(
        () => crowd.heard.length - before,
        heard => heard >= ANSWERS_A_ROUND_MIN && crowd.asking > CLIENTS * 0.7,
      )
      await Bun.sleep(150 + Math.random() * 450)
      crowd.wait()
      await duet.stop('SIGKILL')
      duet = await duet.restart()
      expect(await heldIn(duet)).toEqual(['0.00', '0.00', '0.00', '0.00'])
    }
    await crowd.end(duet)

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
  const atLeast = { whole: KILLS * 5, cut: KILLS / 2, unanswered: KILLS, refused: KILLS, interrupted: KILLS }
  const tooFew = Object.entries(atLeast).filter(([what, least]) => tried[what as keyof typeof tried] < least)
  expect(tooFew, `what was tried: ${JSON.stringify(tried)}`).toEqual([])
}

/** Exactly one charge for every answer that a client holds whole, of exactly what the client was told. */
function expectBillsAsTold(heard: readonly Heard[], accounts: readonly Books[]): void {
  const rows = new Map(accounts.flatMap(books => books.rows).map(row => [row.request_id, row]))
  const charges = accounts.flatMap(chargesIn)
  const charged = new Map(charges.map(({ source, amount }) => [source, -nanosOf(amount)]))
  expect(charged.size).toBe(charges.length)

  for (const { requestId, ending, told, status } of heard) {
    const row = rows.get(requestId)
    if (ending === 'whole') {
      expect(row).toMatchObject({ status: 'ok', cost: told?.cost, tokens: { ...told?.tokens, reasoning: 0 } })
      const cost = costOf(told?.tokens ?? {})
      expect([nanosOf(told?.cost ?? ''), charged.get(requestId)]).toEqual([cost, cost])
    }
    // Who was refused was never held against, and nobody waits for the record of it; who was told that the upstream had
    // failed pays nothing.
    if (status === 403) {
      const { cost, channel } = row ?? { cost: '0.00', channel: '' }
      expect([cost, channel, charged.get(requestId)]).toEqual(['0.00', '', undefined])
    }
    if (status === 502) expect([row?.cost, charged.get(requestId)]).toEqual(['0.00', undefined])
  }
}

function expectInterruptedFree(accounts: readonly Books[]): void {
  const charged = new Set(accounts.flatMap(chargesIn).map(({ source }) => source))
  for (const { cost, request_id, tokens } of interruptedIn(accounts)) {
    const used = Object.values(tokens).reduce((sum, count) => sum + count, 0)
    expect({ cost, used, isCharged: charged.has(request_id) }).toEqual({ cost: '0.00', used: 0, isCharged: false })
  }
}

const interruptedIn = (accounts: readonly Books[]): readonly UsageView[] =>
  accounts.flatMap(({ rows }) => rows).filter(({ status }) => status === 'interrupted')
