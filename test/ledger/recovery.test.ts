import { afterAll, describe, expect, test } from 'bun:test'
import { PATHS } from '../pairs/pairs.ts'
import { STORE } from '../support/databases.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { CHAT, MESSAGES, user } from '../support/http.ts'
import { openStoreOf, openTablesOf } from '../support/stores.ts'
import { eventStream, type ScriptedUpstream, scriptUpstream, type UpstreamVisit } from '../support/upstream.ts'
import { ask, idOf } from '../support/wire.ts'
import { answering, configOf, costOf, dollarsOf, gate, PROMPT, QUESTION, readUntil, unfinished } from './stage.ts'

const upstreams: ScriptedUpstream[] = []
afterAll(() => Promise.all(upstreams.map(upstream => upstream.stop())))

async function start(answer: (visit: UpstreamVisit) => Response | Promise<Response>): Promise<Duet> {
  const upstream = scriptUpstream(answer)
  upstreams.push(upstream)
  return startDuet({ config: configOf(upstream.base) })
}

const open = (duet: Duet, path: string, body: object): Promise<Response> =>
  fetch(duet.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${duet.key}` },
    body: JSON.stringify(body),
  })

/** What stands in the tables of a Duet that does not run. */
async function rowsOf(duet: Duet, sql: string): Promise<readonly JsonBody[]> {
  // Opening it brings what a killed process had in its journal into the tables, and does no more.
  const store = await openStoreOf(duet.folder)
  await store.close()
  const tables = await openTablesOf(duet.folder)
  try {
    return await tables.all<JsonBody>(sql)
  } finally {
    await tables.close()
  }
}

/** Where others could still be alive, their holds are given back when it is certain that they are not: a lease later. */
async function waitForDeaths(duet: Duet): Promise<void> {
  if (STORE === 'sqlite') return
  const tables = await openTablesOf(duet.folder)
  while ((await tables.all('SELECT 1 AS one FROM holds')).length > 0) {
    await tables.run('UPDATE owners SET since = 0 WHERE expires_at > duet_now()')
    await tables.run('UPDATE owners SET expires_at = 0 WHERE owner IN (SELECT owner FROM holds)')
    await Bun.sleep(50)
  }
  await tables.close()
}

const account = async (duet: Duet) => (await duet.admin('GET', '/api/accounts/default')).body
const verification = async (duet: Duet) => (await duet.admin('GET', '/api/ledger/verify')).body

describe('3. Charged before delivered: kill -9 at the last byte', () => {
  test('loses no charge for an answer that was delivered whole', async () => {
    let duet = await start(answering({ input: 11, output: 7 }))
    const delivered: string[] = []
    for (const client of ['chat', 'messages'] as const) {
      for (const stream of [false, true]) {
        const response = await open(duet, PATHS[client], ask(client, 'acme/chat', QUESTION, { stream }))
        const isLast = stream ? /data: \[DONE]|event: message_stop/ : /}\s*$/
        await readUntil(response, text => isLast.test(text))
        process.kill(duet.pid, 'SIGKILL')
        delivered.push(idOf(response))
        await duet.stop('SIGKILL')
        duet = await duet.restart()
      }
    }
    for (const id of delivered) {
      const { body } = await duet.admin('GET', `/api/usage/${id}`)
      const cost = dollarsOf(costOf({ input: 11, output: 7 }))
      expect(body).toMatchObject({ status: 'ok', cost, receipt: { entry: { source: id, amount: `-${cost}` } } })
    }
    expect(await account(duet)).toMatchObject({ held: '0.00', spent: dollarsOf(4n * costOf({ input: 11, output: 7 })) })
    expect(await verification(duet)).toMatchObject({ ok: true, charges: 4, open_holds: 0 })
    await duet.stop()
  })
})

describe('4. Nothing leaks: what a crash leaves behind', () => {
  test('is a row with an owner and an expiry; the next start records it as interrupted, and gives it back', async () => {
    const visits: UpstreamVisit[] = []
    const duet = await start(visit => {
      visits.push(visit)
      const protocol = visit.path.endsWith('/messages') ? 'messages' : 'chat'
      return visit.body.stream
        ? eventStream(unfinished(protocol, { text: 'Half of' }), 'silence')
        : new Promise<Response>(() => {})
    })
    const stream = { stream: true, max_tokens: 2_000 }
    const calls = [
      open(duet, CHAT, { model: 'acme/chat', messages: user(QUESTION), max_tokens: 300 }),
      open(duet, MESSAGES, { model: 'acme/chat', messages: user(QUESTION), max_tokens: 300 }),
      open(duet, CHAT, { model: 'acme/messages', messages: user(QUESTION), ...stream }),
    ].map(call => call.catch(() => undefined))
    // One of them has had half of its answer already.
    const begun = await calls[2]
    expect(begun?.status).toBe(200)
    while (visits.length < 3) await Bun.sleep(2)
    const began = Date.now()
    await duet.stop('SIGKILL')

    const holds = await rowsOf(duet, 'SELECT * FROM holds ORDER BY amount')
    const held = [300, 300, 2_000].map(output => costOf({ input: PROMPT, output }))
    expect(holds.map(({ amount }) => amount)).toEqual(held)
    expect(new Set(holds.map(({ owner }) => owner)).size).toBe(1)
    for (const { owner, expires_at } of holds) {
      expect(owner).toMatch(/^[0-9a-f]{16}$/)
      expect(Number(expires_at)).toBeGreaterThan(began)
    }

    const again = await duet.restart()
    await waitForDeaths(again)
    const { data } = (await again.admin('GET', '/api/usage?status=interrupted')).body
    const shape = { status: 'interrupted', source: 'estimated', cost: '0.00', ending: null }
    expect(
      data.sort((a: JsonBody, b: JsonBody) => `${a.model}${a.protocol}`.localeCompare(`${b.model}${b.protocol}`)),
    ).toMatchObject([
      { ...shape, model: 'acme/chat', channel: 'speaks-chat', protocol: 'chat', stream: false },
      { ...shape, model: 'acme/chat', channel: 'speaks-chat', protocol: 'messages', stream: false },
      { ...shape, model: 'acme/messages', channel: 'speaks-messages', protocol: 'chat', stream: true },
    ])
    const { body } = await again.admin('GET', `/api/usage/${data[2].request_id}`)
    expect(body.receipt).toMatchObject({ hold: { amount: dollarsOf(held[2] ?? 0n) }, entry: null })
    expect(await account(again)).toMatchObject({ balance: '100.00', held: '0.00', spent: '0.00' })
    expect(await verification(again)).toMatchObject({ ok: true, open_holds: 0, usage: 3, charges: 0 })
    expect(again.output()).toContain(
      STORE === 'sqlite' ? 'released holds of an interrupted run' : 'released holds that belonged to no call',
    )
    await again.stop()

    const third = await again.restart()
    expect((await third.admin('GET', '/api/usage')).body.data).toHaveLength(3)
    expect(third.output()).not.toContain('released holds')
    await third.stop()
  })

  test('a shutdown leaves nothing behind: what is under way is settled before the end', async () => {
    const finish = gate()
    const duet = await start(async visit => {
      await finish.opened
      return answering({ input: 11, output: 7 })(visit)
    })
    const body = { model: 'acme/chat', messages: user(QUESTION), max_tokens: 300 }
    const calls = [open(duet, CHAT, body), open(duet, CHAT, { ...body, stream: true })]
    while ((await account(duet)).held !== dollarsOf(2n * costOf({ input: PROMPT, output: 300 }))) await Bun.sleep(2)
    const stopped = duet.stop()
    finish.open()
    for (const response of await Promise.all(calls)) expect((await response.text()).length).toBeGreaterThan(0)
    expect(await stopped).toBe(0)
    expect(await rowsOf(duet, 'SELECT * FROM holds')).toEqual([])
    expect(await rowsOf(duet, 'SELECT status, cost FROM usage')).toEqual(Array(2).fill({ status: 'ok', cost: 39_000n }))
    expect(await rowsOf(duet, 'SELECT held FROM accounts UNION ALL SELECT held FROM keys')).toEqual([
      { held: 0n },
      { held: 0n },
    ])
  })
})
