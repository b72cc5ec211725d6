import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Locator, Page } from 'playwright-core'
import { describeInBrowser, openConsole, settled, urlsOf } from '../support/browser.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { CHAT, post, user } from '../support/http.ts'
import { inviteMember, type Person, signInAsOperator } from '../support/people.ts'
import { configFor, type ScriptedUpstream, scriptUpstream } from '../support/upstream.ts'
import { vendorBody } from '../support/vendor.ts'

const MODEL = 'acme/swift-2'
/** Seven tokens in at a millionth of a dollar, five out at four. */
const BILLIONTHS_A_CALL = 27_000n

describeInBrowser('the overview', () => {
  let duet: Duet
  let upstream: ScriptedUpstream
  let operator: Person

  beforeAll(async () => {
    upstream = scriptUpstream(() => Response.json(vendorBody('chat')))
    duet = await startDuet({ config: configFor(upstream.base, 'chat') })
    operator = await signInAsOperator(duet)
  })
  afterAll(async () => {
    await duet.stop()
    await upstream.stop()
  })

  // ── what is called ────────────────────────────────────────────────────────────────────────────────────────────────

  const newAccount = async (name: string): Promise<JsonBody> =>
    (await duet.admin('POST', '/api/accounts', { name, balance: '50' })).body
  const newKey = async (account: string, name: string): Promise<JsonBody> =>
    (await duet.admin('POST', '/api/keys', { account, name })).body

  const call = async (key: string, model = MODEL) => {
    const answer = await post(duet, CHAT, { model, messages: user('Hello'), max_tokens: 100 }, { key })
    return answer.headers.get('x-request-id') ?? ''
  }
  const open = (account: string, more = '') =>
    openConsole(duet, { path: `?account=${account}${more}`, as: operator }).then(async page => {
      await settled(page)
      return page
    })

  // ── numbers ───────────────────────────────────────────────────────────────────────────────────────────────────────

  test('counts what was spent, asked and refused, to the last digit', async () => {
    const account = await newAccount('counted')
    const { key } = await newKey(account.id, 'Alpha')
    for (let calls = 0; calls < 3; calls++) await call(key)
    await call(key, 'acme/nothing')
    const page = await open(account.id)

    expect(await amountOf(stat(page, 'Balance'))).toBe(dollarsOf(50_000_000_000n - 3n * BILLIONTHS_A_CALL))
    for (const time of ['Spent today', 'Spent in 7 days', 'Spent in 30 days']) {
      expect(await amountOf(stat(page, time))).toBe(dollarsOf(3n * BILLIONTHS_A_CALL))
      expect(await stat(page, time).innerText()).toContain('4 requests')
      // It is the caller's mistake, and nothing that failed here.
      expect(await stat(page, time).innerText()).toContain('1 refused')
      expect(await stat(page, time).innerText()).not.toContain('error')
    }
    await page.getByText('Lasts more than a year at this rate').waitFor()
    await page.getByText('Measured on the latest 3 requests that were answered in the last 7 days.').waitFor()
    for (const speed of ['Latency, p50', 'Latency, p95', 'Time to first token, p50'])
      expect(await stat(page, speed).innerText()).toMatch(/\d m?s\b/)
  })

  test('shows one account or all of them together', async () => {
    const account = await newAccount('chosen')
    await call((await newKey(account.id, 'Only')).key)
    const page = await openConsole(duet, { as: operator })
    await settled(page)
    const { body } = await duet.admin('GET', '/api/overview')
    expect(await amountOf(stat(page, 'Balance of all accounts'))).toBe(body.balance)
    await page.getByLabel('Account').selectOption({ label: 'chosen' })
    await page.getByRole('table', { name: 'Latest requests' }).getByText('Only').waitFor()
    expect(new URL(page.url()).searchParams.get('account')).toBe(account.id)
    expect(await amountOf(stat(page, 'Balance'))).toBe(dollarsOf(50_000_000_000n - BILLIONTHS_A_CALL))
    expect(await rows(page).count()).toBe(1)
  })

  // ── live ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  test('shows a request when it happens, without a reload and without taking the focus', async () => {
    const account = await newAccount('live')
    const { key } = await newKey(account.id, 'Beta')
    const page = await open(account.id)
    await page.getByText('No requests yet').waitFor()
    await page.getByLabel('24 hours').focus()
    const loads = urlsOf(page).filter(url => url.includes('/console?')).length

    const id = await call(key)
    await rows(page).first().waitFor()
    expect(await rows(page).first().getByRole('link').getAttribute('href')).toBe(`/console/requests/${id}`)
    await stat(page, 'Spent today')
      .locator(`data[value="${dollarsOf(BILLIONTHS_A_CALL)}"]`)
      .waitFor()
    expect(await page.getByLabel('24 hours').evaluate(field => field.matches(':focus'))).toBe(true)

    const next = await call(key)
    await page.locator(`tbody tr:first-child a[href$="${next}"]`).waitFor()
    expect(urlsOf(page).filter(url => url.includes('/console?')).length).toBe(loads)
  })

  test('asks for its numbers once, however much happens in a moment', async () => {
    const account = await newAccount('busy')
    const { key } = await newKey(account.id, 'Gamma')
    const page = await open(account.id)
    const asked = () => urlsOf(page).filter(url => url.includes('/api/overview')).length
    expect(asked()).toBe(1)
    await Promise.all(Array.from({ length: 12 }, () => call(key)))
    await page.getByText('12 requests').first().waitFor()
    expect(asked()).toBeLessThanOrEqual(3)
    expect(await rows(page).count()).toBe(10)
  })

  // ── what is unusual ───────────────────────────────────────────────────────────────────────────────────────────────

  test('leads from a key at its cap to raising the cap', async () => {
    const account = await newAccount('capped')
    const { id, key } = await newKey(account.id, 'Delta')
    await call(key)
    await duet.admin('PATCH', `/api/keys/${id}`, { cap: '0.00002' })
    const page = await openConsole(duet, { path: '/settings', as: operator })
    await page.route('**/api/overview?*', async route => {
      const answer = await route.fetch()
      const view = await answer.json()
      const down = { kind: 'channel-down', channel: 'up', error: null, since: new Date().toISOString() }
      await route.fulfill({ response: answer, json: { ...view, alerts: [...view.alerts, down] } })
    })
    await page.goto(`${duet.url}/console?account=${account.id}`)
    const alerts = page.getByRole('region', { name: 'What is unusual' })
    // What stops everybody comes first.
    await alerts.locator('li:first-child').getByText('It stopped answering just now.').waitFor()
    await alerts.getByText('Delta · This key’s cap is reached').waitFor()
    await alerts.getByText('pre_consume_token_quota_failed').waitFor()
    expect(await alerts.getByRole('link', { name: 'Top up' }).count()).toBe(0)
    await alerts.getByRole('link', { name: 'Raise the cap' }).click()
    await page.waitForURL(`${duet.url}/console/keys/${id}?raise=true`)
  })

  test('leads from a balance that refuses calls to the top-up of that account, and says how it stands', async () => {
    const { body: poor } = await duet.admin('POST', '/api/accounts', { name: 'poor', balance: '0.001' })
    const { body: fresh } = await duet.admin('POST', '/api/accounts', { name: 'fresh' })
    const page = await open(poor.id)
    const alerts = page.getByRole('region', { name: 'What is unusual' })
    await alerts.getByText('poor · Too little money on the account').waitFor()
    await stat(page, 'Balance').getByText('Too low for most calls').waitFor()

    await page.getByLabel('Account').selectOption({ label: 'fresh' })
    await alerts.getByText('fresh · No money on the account yet').waitFor()
    expect(await alerts.getByText('used up').count()).toBe(0)
    expect(await alerts.getByRole('link', { name: 'Raise the cap' }).count()).toBe(0)
    await alerts.getByRole('link', { name: 'Top up' }).click()
    await page.getByRole('dialog', { name: 'Top up fresh' }).waitFor()
    expect(new URL(page.url()).searchParams.get('account')).toBe(fresh.id)
  })

  // ── charts ────────────────────────────────────────────────────────────────────────────────────────────────────────

  test('has its range in the address, and every chart as a table with exact amounts', async () => {
    const account = await newAccount('charted')
    await call((await newKey(account.id, 'Epsilon')).key)
    const page = await open(account.id)
    expect(await page.getByLabel('7 days').isChecked()).toBe(true)
    await page.getByLabel('30 days').click()
    await page.waitForURL(url => url.searchParams.get('days') === '30')
    await page.reload()
    await settled(page)
    expect(await page.getByLabel('30 days').isChecked()).toBe(true)

    const chart = page.getByRole('figure', { name: 'Spend by key' })
    await chart.locator('canvas').waitFor()
    await chart.getByRole('button', { name: 'View as table' }).click()
    const table = chart.getByRole('table')
    await table.getByRole('columnheader', { name: 'Epsilon' }).waitFor()
    expect(await table.getByRole('columnheader', { name: 'All others' }).count()).toBe(0)
    expect(await table.locator('tbody tr').count()).toBe(30)
    expect(await table.locator('tbody tr').last().innerText()).toContain('$0.000027')
    await chart.getByRole('button', { name: 'View as chart' }).click()
    await chart.locator('canvas').waitFor()

    await page.getByLabel('Requests', { exact: true }).click()
    await page.waitForURL(url => url.searchParams.get('measure') === 'requests')
    await page.getByRole('figure', { name: 'Requests by model' }).waitFor()
  })

  // ── first steps ───────────────────────────────────────────────────────────────────────────────────────────────────

  test('ticks the first steps of a member as they are done, and forgets them when told to', async () => {
    const member = await inviteMember(duet, 'newcomer')
    const page = await openConsole(duet, { as: member })
    await settled(page)
    const steps = page.getByRole('region', { name: 'First steps' })
    await steps.getByText('0 of 4 done').waitFor()
    // Without money nothing else works.
    const money = steps.locator('li:first-child').getByRole('link', { name: 'Get money on your account' })
    expect(await money.getAttribute('href')).toBe('/console/billing?redeem=true')
    await duet.admin('POST', `/api/accounts/${member.session.account.id}/topups`, { amount: '5' })
    await steps.getByText('1 of 4 done').waitFor()
    expect(await steps.getByText('Connect an upstream').count()).toBe(0)
    expect(await page.getByLabel('Account', { exact: true }).count()).toBe(0)

    const { body } = await member.call('POST', '/api/keys', { name: 'first' })
    await call(body.key)
    await steps.getByText('3 of 4 done').waitFor()
    expect(await steps.getByRole('link', { name: 'Give a key a cap' }).count()).toBe(1)
    expect(await steps.getByRole('link', { name: 'Send a request' }).count()).toBe(0)

    await steps.getByRole('button', { name: 'Dismiss the first steps' }).click()
    await page.reload()
    await settled(page)
    expect(await steps.count()).toBe(0)
  })
})

const stat = (page: Page, label: string): Locator =>
  page.locator('.stat').filter({ has: page.getByText(label, { exact: true }) })

const rows = (page: Page): Locator => page.getByRole('table', { name: 'Latest requests' }).locator('tbody tr')

/** Exact, as it stands behind what is drawn. */
const amountOf = (place: Locator) => place.locator('data').first().getAttribute('value')

const BILLION = 1_000_000_000n

/** As the API writes it: two decimals at least, and no zeros after what counts. */
function dollarsOf(billionths: bigint): string {
  const fraction = String(billionths % BILLION).padStart(9, '0')
  return `${billionths / BILLION}.${fraction.replace(/0{1,7}$/, '')}`
}
