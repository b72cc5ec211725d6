import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import type { Locator, Page } from 'playwright-core'
import { readAmounts } from '../../console/pages/requests/refusal.ts'
import { findRequestId } from '../../console/pages/requests/request-id.ts'
import { describeInBrowser, openConsole, settled } from '../support/browser.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { CHAT, MESSAGES, post, user } from '../support/http.ts'
import { inviteMember, type Person, signInAsOperator } from '../support/people.ts'
import { scriptUpstream } from '../support/upstream.ts'
import { vendorAnswer } from '../support/vendor.ts'
import { eventually } from '../support/wire.ts'
import { overflowsOf } from './overflow.ts'

const MODEL = 'anthropic/claude-haiku-4.5'
const OTHER_MODEL = 'openai/gpt-4.1'
const MANY = 104
const PAGE_ROWS = 50

describeInBrowser('requests', () => {
  let duet: Duet
  let operator: Person
  let member: Person
  let busy: JsonBody
  let few: JsonBody

  beforeAll(async () => {
    duet = await startDuet()
    operator = await signInAsOperator(duet)
    member = await inviteMember(duet, 'Mei')
    busy = await newKey('busy')
    few = await newKey('few')
    for (let made = 0; made < MANY; made += 8) {
      await Promise.all(Array.from({ length: 8 }, (_, at) => ask(busy.key, `Number ${made + at}`)))
    }
    await ask(few.key, 'Hello', { model: OTHER_MODEL })
    await ask(few.key, 'Hello', { path: MESSAGES })
    await ask(few.key, '[[error 500]]')
  })
  afterAll(() => duet.stop())

  const newKey = async (name: string, limits: object = {}): Promise<JsonBody> =>
    (await duet.admin('POST', '/api/keys', { account: 'default', name, ...limits })).body
  const ask = (key: string, content: string, { model = MODEL, path = CHAT } = {}) =>
    post(duet, path, { model, messages: user(content), max_tokens: 40 }, { key })
  const usage = async (query: string): Promise<JsonBody[]> => (await duet.admin('GET', `/api/usage?${query}`)).body.data
  const receiptOf = async (id: string): Promise<JsonBody> => (await duet.admin('GET', `/api/usage/${id}`)).body
  const open = async (path: string, as = operator): Promise<Page> => {
    const page = await openConsole(duet, { path: `/requests${path}`, as })
    await settled(page)
    return page
  }

  // ── finding one ───────────────────────────────────────────────────────────────────────────────────────────────────

  test('a request is found by its id, and by the whole error message of the official client', async () => {
    const page = await open('')
    const [row] = await usage('limit=1')
    await search(page).fill(row.request_id)
    await search(page).press('Enter')
    await panel(page).getByText(row.request_id).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/console/requests/${row.request_id}`)

    const capped = await newKey('capped', { cap: '0.00000001' })
    const client = new OpenAI({ baseURL: duet.base, apiKey: capped.key, maxRetries: 0 })
    const error = await client.chat.completions
      .create({ model: MODEL, messages: [{ role: 'user', content: 'Hello' }] })
      .catch(error => error)
    expect(error.message).toContain('(request id: ')
    // Pasted, it needs no Enter.
    await search(page).fill(error.message)
    for (const key of ['a', 'x', 'v']) await page.keyboard.press(`ControlOrMeta+${key}`)
    await panel(page).getByText(error.requestID).waitFor()
    await panel(page).getByText('This key’s cap is reached').waitFor()
  })

  test('a text without an id is said to have none, and an unknown id is not found', async () => {
    const page = await open('')
    await search(page).fill('it does not work')
    await search(page).press('Enter')
    await page.getByText('There is no request id in this text').waitFor()
    await search(page).fill('abcdefghijklmnopqrstuvwx')
    await search(page).press('Enter')
    await panel(page).getByText('Not found').waitFor()
  })

  // ── filters and pages ─────────────────────────────────────────────────────────────────────────────────────────────

  test('filters are in the address: they survive a reload and going back, and what is exported obeys them', async () => {
    const page = await open('')
    await page.getByLabel('Key').selectOption('few')
    await shows(page, 3)
    await page.getByLabel('Status').selectOption('Any error')
    await shows(page, 1)
    await table(page).getByText('Upstream failed').waitFor()
    const filtered = new URL(page.url())
    expect(Object.fromEntries(filtered.searchParams)).toEqual({ key: few.id, status: 'error' })

    await page.reload()
    await shows(page, 1)
    expect(await page.getByLabel('Status').inputValue()).toBe('error')
    const csv = await page.getByRole('link', { name: 'Export CSV' }).getAttribute('href')
    const { body } = await operator.call('GET', csv ?? '')
    expect(String(body).trim().split('\n').length).toBe(1 + 1)

    await page.getByRole('link', { name: 'Models' }).first().click()
    await page.getByRole('heading', { name: 'Models', level: 1 }).waitFor()
    await page.goBack()
    await shows(page, 1)
    expect(page.url()).toBe(filtered.href)

    await page.getByRole('button', { name: 'Clear filters' }).click()
    await shows(page, PAGE_ROWS)
  })

  test('every filter asks for exactly what it names', async () => {
    const page = await open(`?key=${few.id}`)
    await page.getByLabel('Model').selectOption(OTHER_MODEL)
    await shows(page, 1)
    await page.getByLabel('Model').selectOption('All models')
    await page.getByLabel('Protocol').selectOption('Messages')
    await shows(page, 1)
    await page.getByLabel('Protocol').selectOption('Both protocols')
    await page.getByLabel('Time').selectOption('Last 15 minutes')
    await shows(page, 3)
    await page.getByLabel('Time').selectOption('From … to …')
    await page.getByLabel('To', { exact: true }).fill('2020-01-01T00:00')
    await page.getByText('No request matches these filters').waitFor()

    // A key that is revoked is in no menu; from one of its requests the others are found.
    const goner = await newKey('goner')
    await ask(goner.key, 'Hello')
    await duet.admin('DELETE', `/api/keys/${goner.id}`)
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await table(page).getByRole('link', { name: 'Only requests of goner' }).click()
    await shows(page, 1)
    expect(await page.getByLabel('Key').locator('option:checked').innerText()).toBe('goner')
  })

  test('at every width the list fits, cost and account included', async () => {
    const page = await open('')
    for (const width of [360, 768, 1024, 1280, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      expect([width, ...(await overflowsOf(page))]).toEqual([width, 0, 0])
      expect(await rows(page).first().locator('.money').isVisible()).toBe(true)
      expect(await rows(page).first().getByText('default', { exact: true }).isVisible()).toBe(true)
    }
  })

  test('pages are turned back and forth through more than a hundred, each row once', async () => {
    const all = (await usage(`key=${busy.id}&limit=500`)).map(({ request_id }) => request_id)
    expect(all.length).toBe(MANY)
    const page = await open(`?key=${busy.id}`)
    const seen: string[] = []
    const turn = async (name: 'Older' | 'Newer', first: string | undefined) => {
      await page.getByRole('button', { name }).click()
      await page.locator(`a[href*="${first}"]`).waitFor()
    }
    seen.push(...(await idsOf(page)))
    await turn('Older', all[PAGE_ROWS])
    seen.push(...(await idsOf(page)))
    // Looking at one of them does not lose the way back.
    await rows(page).first().click()
    await panel(page).getByRole('button', { name: 'Close' }).click()
    await panel(page).waitFor({ state: 'detached' })
    await turn('Older', all[2 * PAGE_ROWS])
    seen.push(...(await idsOf(page)))
    expect(seen).toEqual(all)
    expect(await page.getByRole('button', { name: 'Older' }).isDisabled()).toBe(true)
    await turn('Newer', all[PAGE_ROWS])
    expect(await idsOf(page)).toEqual(all.slice(PAGE_ROWS, 2 * PAGE_ROWS))
    await turn('Newer', all[0])
  })

  // ── one request ───────────────────────────────────────────────────────────────────────────────────────────────────

  test('the receipt shows the arithmetic of the API, digit by digit, and it adds up', async () => {
    const [row] = await usage(`key=${few.id}&status=ok`)
    const { receipt } = await receiptOf(row.request_id)
    const page = await open(`/${row.request_id}`)
    const bill = panel(page).getByRole('region', { name: 'Receipt' })
    const amounts = async (line: Locator) =>
      Promise.all((await line.locator('data').all()).map(amount => amount.getAttribute('value')))
    const lines = await bill.locator('tbody tr').all()
    const { arithmetic } = receipt
    expect(await Promise.all(lines.map(amounts))).toEqual(
      arithmetic.lines.map(({ price, amount }: JsonBody) => [price, amount]),
    )
    const counts = await Promise.all(lines.map(line => line.getByRole('cell').first().innerText()))
    expect(counts.map(Number)).toEqual(arithmetic.lines.map(({ tokens }: JsonBody) => tokens))
    const sums = await amounts(bill.locator('tfoot'))
    expect([sums[0], sums.at(-1)]).toEqual([arithmetic.sum, arithmetic.total])

    // Computed again here, in millionths of a billionth: what is shown is what anyone finds.
    const units = (text: string) => BigInt(text.split('.')[0] + (text.split('.')[1] ?? '').padEnd(15, '0'))
    for (const { tokens, price, amount } of arithmetic.lines) {
      expect((BigInt(tokens) * units(price)) / 1_000_000n).toBe(units(amount))
    }
    for (const amount of [receipt.hold.amount, receipt.hold.returned, receipt.entry.amount, receipt.entry.balance]) {
      expect(await panel(page).locator(`.requests-lines data[value="${amount}"]`).count()).toBe(1)
    }
    await panel(page).getByText(`Ledger entry ${receipt.entry.id}`).waitFor()
    await panel(page).getByText('Attempt 1').waitFor()
    await panel(page).getByText('Prompts and answers of this key are not stored.').waitFor()
  })

  test('a request that the balance refused says so, and not that a cap is reached', async () => {
    const key = await newKey('penniless', { account: member.session.account.id })
    const refused = await ask(key.key, 'Hello')
    expect([refused.status, refused.body.error.code]).toEqual([403, 'insufficient_user_quota'])
    const path = `/${refused.headers.get('x-request-id')}`
    const page = await open(path)
    await panel(page).getByText('The account’s balance is used up').waitFor()
    await panel(page).getByText('403 insufficient_user_quota').waitFor()
    // The error in full, as the caller was told.
    await panel(page).getByText('用户额度不足').waitFor()
    expect(await panel(page).getByText('cap is reached').count()).toBe(0)
    await panel(page).getByText('Refused before any upstream was asked').waitFor()
    const step = panel(page).getByRole('link', { name: 'Top up' })
    expect(await step.getAttribute('href')).toBe(`/console/billing?topup=true&account=${member.session.account.id}`)

    // With too little instead of nothing it says how much there was, and how much was needed.
    await duet.admin('POST', `/api/accounts/${member.session.account.id}/topups`, { amount: '0.0001' })
    const short = await ask(key.key, 'Hello')
    // Nobody waits for a refusal to be written down.
    await eventually(
      () => usage(`key=${key.id}`),
      written => written.length === 2,
    )
    const { needed } = readAmounts(short.body.error.message) ?? {}
    await search(page).fill(short.headers.get('x-request-id') ?? '')
    await search(page).press('Enter')
    await panel(page).getByText('The account’s balance was too low for this call').waitFor()
    await panel(page).getByText(`The account had $0.0001 left. This call needed $${needed} before`).waitFor()
    await panel(page).getByText('预扣费额度失败').waitFor()

    // Who cannot top up is offered what they can do.
    const theirs = await open(path, member)
    await panel(theirs).getByRole('link', { name: 'Redeem a code' }).waitFor()
    expect(await table(theirs).getByText('sandbox').count()).toBe(0)
  })

  test('what a key stores is shown with the request, and until when', async () => {
    const key = await newKey('notes')
    await duet.admin('PATCH', `/api/keys/${key.id}`, { keep_days: 3 })
    const answer = await ask(key.key, 'the word is marzipan')
    const page = await open(`/${answer.headers.get('x-request-id')}`)
    await panel(page).getByRole('region', { name: 'Prompt, as it was received' }).getByText('marzipan').waitFor()
    await panel(page).getByRole('region', { name: 'Answer, as it was sent' }).getByText('marzipan').waitFor()
    await panel(page).getByText('in 3 days').waitFor()
  })

  test('next and previous go through the list as it is filtered, by key and by button', async () => {
    const ids = (await usage(`key=${few.id}`)).map(({ request_id }) => request_id)
    const page = await open(`?key=${few.id}`)
    await shows(page, 3)
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    const isShown = async (at: number) => panel(page).getByText(ids[at]).waitFor()
    await isShown(0)
    await page.keyboard.press('j')
    await isShown(1)
    await panel(page).getByRole('button', { name: 'Older request' }).click()
    await isShown(2)
    expect(await panel(page).getByRole('button', { name: 'Older request' }).isDisabled()).toBe(true)
    await page.keyboard.press('k')
    await isShown(1)
    await page.keyboard.press('Escape')
    await panel(page).waitFor({ state: 'detached' })
    expect(page.url()).toBe(`${duet.url}/console/requests?key=${few.id}`)
  })

  test('a model of the catalog that nobody serves is told from one that nobody knows', async () => {
    // With a channel of one's own the sandbox stops answering.
    const own = { protocol: 'chat', base_url: 'http://127.0.0.1:9/v1', api_keys: ['sk-none'], models: { [MODEL]: 'x' } }
    await duet.admin('POST', '/api/channels', { name: 'own', ...own })
    const key = await newKey('asking')
    await ask(key.key, 'Hello', { model: OTHER_MODEL })
    await ask(key.key, 'Hello', { model: 'no/such-model' })
    await duet.admin('DELETE', '/api/channels/own')
    const written = await eventually(
      () => usage(`key=${key.id}&status=model_not_found`),
      found => found.length === 2,
    )
    const [unserved, unknown] = written.toSorted((a, b) => b.model.localeCompare(a.model))
    const page = await open(`/${unserved?.request_id}?key=${key.id}`)
    await table(page).getByText('Nobody serves it').waitFor()
    const step = panel(page).getByRole('link', { name: 'Add a channel' })
    expect(await step.getAttribute('href')).toBe('/console/channels/new')
    await search(page).fill(unknown?.request_id)
    await search(page).press('Enter')
    await panel(page).getByText('Look for the exact name in the catalog').waitFor()
  })

  test('a request that took two upstreams shows both, and why the first was not enough', async () => {
    const upstream = scriptUpstream(vendorAnswer)
    const own = { protocol: 'chat', models: [MODEL] }
    await duet.admin('POST', '/api/channels', {
      ...{ name: 'nobody-home', base_url: 'http://127.0.0.1:9/v1', api_keys: ['of-nobody'], ...own },
    })
    await duet.admin('POST', '/api/channels', { name: 'second', base_url: upstream.base, priority: 1, ...own })
    const key = await newKey('twice')
    const answer = await ask(key.key, 'Hello')
    const page = await open(`/${answer.headers.get('x-request-id')}?key=${key.id}`)
    for (const name of ['nobody-home', 'second']) await duet.admin('DELETE', `/api/channels/${name}`)
    await upstream.stop()
    expect(answer.status).toBe(200)
    await rows(page).first().getByText('It took 2 attempts').waitFor({ state: 'attached' })
    const steps = panel(page).locator('.requests-timeline li')
    const failed = steps.filter({ hasText: 'Attempt 1 · nobody-home' })
    await failed.getByText('Upstream failed', { exact: true }).waitFor()
    await failed.getByText('The connection to the upstream failed').waitFor()
    const { attempts } = (await receiptOf(answer.headers.get('x-request-id') ?? '')).receipt
    await failed.getByText(attempts[0].key).waitFor()
    await steps.filter({ hasText: 'Attempt 2 · second' }).getByText('OK').waitFor()
  })

  // ── live ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  test('new requests appear on top by themselves if the filter is about them', async () => {
    const key = await newKey('tail')
    const page = await open(`?key=${key.id}`)
    await page.getByText('No request matches these filters').waitFor()
    await page.getByText('Live: what you see updates by itself').waitFor({ state: 'attached' })
    await ask(busy.key, 'Somebody else')
    const first = await ask(key.key, 'One')
    await page.locator(`a[href*="${first.headers.get('x-request-id')}"]`).waitFor()
    await shows(page, 1)
    const second = await ask(key.key, 'Two')
    await shows(page, 2)
    expect(await idsOf(page)).toEqual([second, first].map(({ headers }) => headers.get('x-request-id') ?? ''))
  })

  test('while somebody points at the list nothing moves; it catches up afterwards', async () => {
    const key = await newKey('rest')
    await ask(key.key, 'Before')
    const page = await open(`?key=${key.id}`)
    await page.getByText('Live: what you see updates by itself').waitFor({ state: 'attached' })
    await rows(page).first().hover()
    await ask(key.key, 'Meanwhile')
    await page.getByRole('button', { name: 'Show 1 new request' }).waitFor()
    expect(await rows(page).count()).toBe(1)
    await page.mouse.move(0, 0)
    await shows(page, 2)

    // Switched off, nothing comes, however long one waits: the sign of a later event has come, the row has not.
    await page.getByRole('button', { name: 'Live' }).click()
    const before = await balanceOf(page)
    await ask(key.key, 'Unseen')
    while ((await balanceOf(page)) === before) await Bun.sleep(50)
    expect(await rows(page).count()).toBe(2)
  })
})

describe('finding a request id', () => {
  for (const [text, id] of [
    ['  ipluwqtrlkmzgdapipuvyirn\n', 'ipluwqtrlkmzgdapipuvyirn'],
    ['403 token quota is not enough (request id: ipluwqtrlkmzgdapipuvyirn)', 'ipluwqtrlkmzgdapipuvyirn'],
    ['{"error":{"message":"Invalid (request id: ipluwqtrlkmzgdapipuvyirn)"}}', 'ipluwqtrlkmzgdapipuvyirn'],
    ['x-request-id: ipluwqtrlkmzgdapipuvyirn', 'ipluwqtrlkmzgdapipuvyirn'],
    ['see ipluwqtrlkmzgdapipuvyirn please', 'ipluwqtrlkmzgdapipuvyirn'],
    ['it does not work', undefined],
    ['', undefined],
  ] as const) {
    test(`in ${JSON.stringify(text)} it is ${id}`, () => expect(findRequestId(text)).toBe(id))
  }
})

describe('the amounts in a refusal about money', () => {
  for (const [error, amounts] of [
    ['用户额度不足, 剩余额度: ＄0.000000 (request id: x)', { had: '0.000000', needed: undefined }],
    ['预扣费额度失败, 用户剩余额度: ＄0.001025, 需要预扣费额度: ＄0.002002', { had: '0.001025', needed: '0.002002' }],
    ['token quota is not enough, token remain quota: ＄0.5, need quota: ＄2', { had: '0.5', needed: '2' }],
    ['The upstream wants ＄5', undefined],
    [null, undefined],
  ] as const) {
    test(`of ${JSON.stringify(error)}`, () => expect(readAmounts(error)).toEqual(amounts))
  }
})

const search = (page: Page): Locator => page.getByRole('searchbox', { name: 'Request id' })
const panel = (page: Page): Locator => page.getByRole('dialog', { name: 'Request' })
const table = (page: Page): Locator => page.getByRole('table', { name: 'Requests' })
const rows = (page: Page): Locator => table(page).locator('tbody tr')

/** Waits until there are so many rows. */
const shows = (page: Page, count: number): Promise<void> =>
  table(page).locator(`tbody tr:nth-child(${count}):last-child`).waitFor()

const idsOf = async (page: Page): Promise<string[]> => {
  const links = await rows(page).locator('[data-row-link]').all()
  const hrefs = await Promise.all(links.map(link => link.getAttribute('href')))
  return hrefs.map(href => /requests\/(\w+)/.exec(href ?? '')?.[1] ?? '')
}

const balanceOf = (page: Page): Promise<string | null> => page.locator('.balance data').getAttribute('value')
