import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../support/duet.ts'
import { inviteMember } from '../support/people.ts'
import { storedBytes } from '../support/stored.ts'
import { signatureOf, startWebhook, type Webhook } from '../support/webhook.ts'

let duet: Duet
let webhook: Webhook
beforeAll(async () => {
  duet = await startDuet()
  webhook = startWebhook()
})
afterAll(async () => {
  await duet.stop()
  await webhook.stop()
})

let accounts = 0
const newAccount = async (balance = '10'): Promise<string> =>
  (await duet.admin('POST', '/api/accounts', { name: `watched-${++accounts}`, balance })).body.id

const notice = (account: string) => `/api/accounts/${account}/notice`

const setNotice = async (account: string, fields: object = {}) => {
  const wanted = { threshold: '5', url: `${webhook.url}/hook?token=of-the-query`, ...fields }
  const { status, body } = await duet.admin('PUT', notice(account), wanted)
  expect(status).toBe(200)
  return body
}

const restart = async () => {
  await duet.stop()
  duet = await duet.restart()
}

describe('a low-balance notice', () => {
  test('has a secret that is shown once and new each time', async () => {
    const account = await newAccount()
    expect((await duet.admin('GET', notice(account))).status).toBe(404)
    const { secret, ...rest } = await setNotice(account)
    expect(rest).toEqual({ threshold: '5.00', url: `${webhook.url}/hook?…`, told_at: null, failures: 0, error: null })
    expect((await duet.admin('GET', notice(account))).body).toEqual(rest)
    expect((await setNotice(account)).secret).not.toBe(secret)
  })

  test('tells a webhook that the balance is low: once, signed, again after it has recovered', async () => {
    const account = await newAccount('4')
    const { secret } = await setNotice(account)
    const before = webhook.deliveries.length
    await restart()
    await webhook.arrived(before + 1)
    const delivery = webhook.deliveries[before]
    expect(delivery?.body).toEqual({
      event: 'balance.low',
      account: { id: account, name: expect.stringContaining('watched') },
      balance: '4.00',
      threshold: '5.00',
      at: expect.any(String),
      console: `${duet.url}/console/billing`,
    })
    expect(delivery?.path).toBe('/hook?token=of-the-query')
    expect(delivery?.headers.get('x-duet-signature')).toBe(signatureOf(secret, delivery?.text ?? ''))
    // It is noted after the webhook has answered, which is after it arrived there.
    while ((await duet.admin('GET', notice(account))).body.told_at === null) await Bun.sleep(5)

    await restart()
    await duet.admin('POST', `/api/accounts/${account}/topups`, { amount: '6' })
    await restart()
    expect((await duet.admin('GET', notice(account))).body.told_at).toBeNull()
    expect(webhook.deliveries).toHaveLength(before + 1)

    await duet.admin('POST', `/api/accounts/${account}/adjustments`, { amount: '-6', note: 'spent' })
    await restart()
    await webhook.arrived(before + 2)
    await duet.admin('DELETE', notice(account))
  })

  test('says what went wrong where a delivery did not arrive', async () => {
    webhook.answer(() => new Response('no', { status: 500 }))
    const account = await newAccount('1')
    await setNotice(account)
    await restart()
    const problem = async () => (await duet.admin('GET', notice(account))).body
    while ((await problem()).failures === 0) await Bun.sleep(5)
    expect(await problem()).toMatchObject({ told_at: null, failures: 1, error: 'answered with status 500' })
    webhook.answer(() => new Response('thanks'))
    await duet.admin('DELETE', notice(account))
  })

  test('keeps address and secret out of the log and out of the database', async () => {
    const account = await newAccount('1')
    const { secret } = await setNotice(account, { url: `${webhook.url}/services/path-token?token=query-token` })
    const before = webhook.deliveries.length
    await restart()
    await webhook.arrived(before + 1)
    while (!duet.output().includes('told that a balance is low')) await Bun.sleep(5)
    await duet.stop()
    for (const text of [duet.output(), await storedBytes(duet.folder)]) {
      for (const hidden of [secret, 'path-token', 'query-token']) expect(text).not.toContain(hidden)
    }
    expect(duet.output()).toContain(webhook.url)
    duet = await duet.restart()
    await duet.admin('DELETE', notice(account))
  })

  test('can be taken away', async () => {
    const account = await newAccount()
    await setNotice(account)
    expect((await duet.admin('DELETE', notice(account))).status).toBe(204)
    expect((await duet.admin('GET', notice(account))).status).toBe(404)
    expect((await duet.admin('DELETE', notice(account))).status).toBe(404)
  })

  test('goes to addresses of the web only, and to nobody by name and password', async () => {
    const account = await newAccount()
    const hosts = ['ftp://example.com/x', 'file:///etc/passwd', 'example.com', 'javascript:alert(1)', '', 7]
    const others = ['http://me:pass@example.com/', 'https://me@example.com/', `http://x.test/${'x'.repeat(2000)}`]
    for (const url of [...hosts, ...others]) {
      const { status, body } = await duet.admin('PUT', notice(account), { threshold: 1, url })
      expect([url, status, body.error.param]).toEqual([url, 422, 'url'])
    }
    const { status, body } = await duet.admin('PUT', notice(account), { threshold: 0, url: webhook.url })
    expect([status, body.error.param]).toEqual([422, 'threshold'])
  })

  test('is seen by the members of the account, without what may be secret in its address, and set by admins', async () => {
    const member = await inviteMember(duet, 'watcher')
    const own = member.session.account.id
    const other = await newAccount()
    await setNotice(own)
    await setNotice(other)
    expect((await member.call('GET', notice(own))).body).toMatchObject({ threshold: '5.00', url: `${webhook.url}/…` })
    expect((await member.call('GET', notice(other))).status).toBe(404)
    expect((await member.call('PUT', notice(own), { threshold: 1, url: webhook.url })).status).toBe(403)
    expect((await member.call('DELETE', notice(own))).status).toBe(403)
    expect((await member.call('POST', `${notice(own)}/test`)).status).toBe(403)
    await duet.admin('DELETE', notice(own))
    await duet.admin('DELETE', notice(other))
  })
})

describe('a test of the webhook', () => {
  test('sends a message that says it is one', async () => {
    const account = await newAccount()
    const { secret } = await setNotice(account)
    const before = webhook.deliveries.length
    const { status, body } = await duet.admin('POST', `${notice(account)}/test`)
    expect([status, body]).toEqual([200, { ok: true, status: 200, error: null }])
    const delivery = webhook.deliveries[before]
    expect(delivery?.body).toMatchObject({ event: 'test', account: { id: account }, balance: '10.00' })
    expect(delivery?.headers.get('x-duet-signature')).toBe(signatureOf(secret, delivery?.text ?? ''))
    expect((await duet.admin('GET', notice(account))).body.told_at).toBeNull()
  })

  test('tells how the webhook answered', async () => {
    const account = await newAccount()
    await setNotice(account)
    webhook.answer(() => new Response('gone', { status: 410 }))
    const { body } = await duet.admin('POST', `${notice(account)}/test`)
    expect(body).toEqual({ ok: false, status: 410, error: 'answered with status 410' })
    webhook.answer(() => new Response('thanks'))
  })

  test('needs a notice', async () => {
    expect((await duet.admin('POST', `${notice(await newAccount())}/test`)).status).toBe(404)
  })
})
