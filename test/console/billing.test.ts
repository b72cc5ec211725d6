import { afterAll, beforeAll, expect, test } from 'bun:test'
import OpenAI from 'openai'
import type { Locator, Page } from 'playwright-core'
import { describeInBrowser, openConsole, settled } from '../support/browser.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { inviteMember, type Person, signInAsOperator } from '../support/people.ts'
import { signatureOf, startWebhook } from '../support/webhook.ts'

const MODEL = 'anthropic/claude-haiku-4.5'

describeInBrowser('billing', () => {
  let duet: Duet
  let operator: Person

  beforeAll(async () => {
    duet = await startDuet()
    operator = await signInAsOperator(duet)
  })
  afterAll(() => duet.stop())

  const newAccount = async (name: string, balance = '0'): Promise<JsonBody> =>
    (await duet.admin('POST', '/api/accounts', { name, balance })).body
  const accountNow = async (id: string): Promise<JsonBody> => (await duet.admin('GET', `/api/accounts/${id}`)).body
  const entriesOf = async (id: string): Promise<JsonBody[]> =>
    (await duet.admin('GET', `/api/accounts/${id}/entries`)).body.data
  const open = async (path: string, as = operator) => {
    const page = await openConsole(duet, { path: `/billing${path}`, as })
    await settled(page)
    return page
  }
  const clientWith = (apiKey: string) => new OpenAI({ baseURL: duet.base, apiKey, maxRetries: 0 })
  const ask = (client: OpenAI) =>
    client.chat.completions.create({
      model: MODEL,
      messages: [{ role: 'user', content: 'Hello' }],
      max_completion_tokens: 50,
    })

  // ── money comes ───────────────────────────────────────────────────────────────────────────────────────────────────

  test('an account at zero is refused as such, and after a top-up the same key works at once', async () => {
    const account = await newAccount('zero')
    const { body: key } = await duet.admin('POST', '/api/keys', { account: account.id, name: 'patient' })
    const client = clientWith(key.key)
    const refused = await ask(client).catch(error => error)
    expect([refused.status, refused.code]).toEqual([403, 'insufficient_user_quota'])

    const page = await open(`?account=${account.id}`)
    const refusal = page.locator('.note').filter({ hasText: 'No money on the account yet' })
    await refusal.getByText('insufficient_user_quota').waitFor()
    expect(await refusal.getByText(/Raising a key’s cap does not help/).count()).toBe(1)
    await refusal.getByRole('link', { name: 'Top up' }).click()
    const dialog = page.getByRole('dialog', { name: 'Top up zero' })
    await dialog.getByLabel('$5.00').click()
    await dialog.getByLabel('Note').fill('Invoice 12')
    await dialog.getByText('Balance afterwards: $5.00').waitFor()
    await dialog.getByRole('button', { name: 'Top up' }).dblclick()
    await page.getByText('$5.00 added to zero').waitFor()
    await dialog.waitFor({ state: 'detached' })
    expect(await refusal.count()).toBe(0)
    expect(await entriesOf(account.id)).toMatchObject([{ kind: 'topup', amount: '5.00', note: 'Invoice 12' }])
    await ledger(page).getByText('Invoice 12').waitFor()

    const answer = await ask(client)
    expect(answer.choices[0]?.message.content).toBeTruthy()
    // The charge appears by itself, and leads to its request.
    const [charge] = await entriesOf(account.id)
    const link = ledger(page).locator('tbody tr').first().getByRole('link')
    await ledger(page).getByText('Charge').waitFor()
    expect(await link.getAttribute('href')).toBe(`/console/requests/${charge.source}`)
    await stat(page, 'Balance').locator(`data[value="${charge.balance}"]`).waitFor()
  })

  test('a top-up whose answer was lost on the way is applied once', async () => {
    const account = await newAccount('twice')
    const page = await open(`?topup=true&account=${account.id}`)
    const dialog = page.getByRole('dialog', { name: 'Top up twice' })
    await dialog.getByLabel('Amount in dollars').fill('12.5')
    await page.route('**/topups', async route => {
      await route.fetch()
      await route.fulfill({ status: 408, body: 'lost' })
    })
    await dialog.getByRole('button', { name: 'Top up' }).click()
    await dialog.getByRole('alert').waitFor()
    expect((await accountNow(account.id)).balance).toBe('12.50')

    await page.unroute('**/topups')
    await dialog.getByRole('button', { name: 'Top up' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect((await accountNow(account.id)).balance).toBe('12.50')
    await stat(page, 'Balance').locator('data[value="12.50"]').waitFor()
    expect(await ledger(page).locator('tbody tr').count()).toBe(1)
  })

  test('says beside the field what is no amount, and sends nothing', async () => {
    const account = await newAccount('typed')
    const page = await open(`?topup=true&account=${account.id}`)
    const amount = page.getByLabel('Amount in dollars')
    for (const [typed, fault] of [
      ['ten', 'Write an amount in dollars'],
      ['0', 'must be above zero'],
      ['1,5', 'Use a dot for decimals: 1.5'],
      ['1,234', 'Use a dot for decimals: 1.5'],
      ['-5', 'Write an amount in dollars'],
    ] as const) {
      await amount.fill(typed)
      await amount.press('Enter')
      await page.getByRole('alert').filter({ hasText: fault }).waitFor()
      expect(await amount.getAttribute('aria-invalid')).toBe('true')
    }
    expect(await entriesOf(account.id)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(new URL(page.url()).searchParams.has('topup')).toBe(false)
  })

  test('a correction needs a reason, and may take money away', async () => {
    const account = await newAccount('corrected', '10')
    const page = await open(`?account=${account.id}`)
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Correct the balance' }).click()
    const dialog = page.getByRole('dialog', { name: 'Correct the balance of corrected' })
    await dialog.getByLabel('Take away').click()
    await dialog.getByLabel('Amount in dollars').fill('10.01')
    await dialog.getByText('This takes the balance below zero.').waitFor()
    await dialog.getByLabel('Amount in dollars').fill('0.000012345')
    await dialog.getByText('Balance afterwards: $9.999987655').waitFor()
    expect(await dialog.getByText('below zero').count()).toBe(0)
    await dialog.getByRole('button', { name: 'Correct the balance' }).click()
    await dialog.getByText('Say what is corrected.').waitFor()
    await dialog.getByLabel('Reason').fill('counted twice')
    await dialog.getByRole('button', { name: 'Correct the balance' }).click()
    await ledger(page).getByText('counted twice').waitFor()
    expect((await accountNow(account.id)).balance).toBe('9.999987655')
    await stat(page, 'Balance').locator('data[value="9.999987655"]').waitFor()
    // To the last digit, so that the rows add up as they stand.
    const row = await ledger(page).locator('tbody tr').first().innerText()
    expect(row).toMatch(/Made in the console\s+-\$0\.000012345\s+\$9\.999987655/)
  })

  // ── codes ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  test('codes are made, shown once, redeemed once by a member, and refused the second time', async () => {
    const page = await open('/codes')
    await page.getByRole('button', { name: 'Create codes' }).first().click()
    const form = page.getByRole('dialog', { name: 'Create codes' })
    await form.getByLabel('Amount in dollars').fill('7.25')
    await form.getByLabel('How many').fill('2')
    await form.getByText('2 codes, $14.50 in all').waitFor()
    await form.getByLabel('Note').fill('workshop')
    await form.getByRole('button', { name: 'Create 2 codes' }).click()
    const shown = page.getByRole('dialog', { name: 'Your 2 codes' })
    const codes = (await shown.locator('pre').innerText()).trim().split('\n')
    expect(codes.map(code => /^duet(-[0-9A-Z]{4}){4}$/.test(code))).toEqual([true, true])
    const downloaded = page.waitForEvent('download')
    await shown.getByRole('link', { name: 'Download' }).click()
    expect((await Bun.file(await (await downloaded).path()).text()).trim().split('\n')).toEqual(codes)
    await shown.getByRole('button', { name: 'Done' }).click()
    const table = page.getByRole('table', { name: 'Redemption codes' })
    await table.getByText('workshop').first().waitFor()
    expect(await page.getByText(codes[0] ?? '').count()).toBe(0)

    const member = await inviteMember(duet, 'redeemer')
    const theirs = await open('?redeem=true', member)
    expect(await theirs.getByRole('button', { name: 'Top up' }).count()).toBe(0)
    const typed = (codes[0] ?? '').toLowerCase().replaceAll('-', ' ')
    await redeem(theirs, typed)
    await theirs.getByText('Code redeemed: $7.25 added to').waitFor()
    await stat(theirs, 'Balance').locator('data[value="7.25"]').waitFor()
    await ledger(theirs).getByText('Code', { exact: true }).waitFor()

    await theirs.getByRole('button', { name: 'Redeem a code' }).click()
    await redeem(theirs, typed)
    await theirs.getByText('This code was redeemed already. A code works once.').waitFor()
    expect((await accountNow(member.session.account.id)).balance).toBe('7.25')

    await page.reload()
    await table.getByText('Redeemed', { exact: true }).waitFor()
    await page.getByRole('button', { name: /^Revoke duet/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('Code revoked').waitFor()
    await redeem(theirs, codes[1] ?? '')
    await theirs.getByText('There is no such code.').waitFor()
  })

  const redeem = async (page: Page, code: string) => {
    await page.getByRole('dialog').getByLabel('Code').fill(code)
    await page.getByRole('button', { name: 'Redeem', exact: true }).click()
  }

  // ── the ledger ────────────────────────────────────────────────────────────────────────────────────────────────────

  test('the ledger pages through its entries with a running balance, and downloads as CSV', async () => {
    const account = await newAccount('many')
    for (let n = 1; n <= 60; n++) {
      const note = n === 60 ? 'the last, "quoted"' : `number ${n}`
      await duet.admin('POST', `/api/accounts/${account.id}/topups`, { amount: `0.00000${n + 100}`, note })
    }
    const page = await open(`?account=${account.id}`)
    await ledger(page).getByText('the last, "quoted"').waitFor()
    expect(await ledger(page).locator('tbody tr').count()).toBe(50)
    await page.getByRole('button', { name: 'Older' }).click()
    await ledger(page).getByText('number 1', { exact: true }).waitFor()
    expect(await ledger(page).locator('tbody tr').count()).toBe(10)
    await page.goBack()
    await ledger(page).getByText('the last, "quoted"').waitFor()

    const downloaded = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Export CSV' }).click()
    const download = await downloaded
    expect(download.suggestedFilename()).toMatch(/^duet-entries-.*\.csv$/)
    const [head = [], ...lines] = parseCsv(await Bun.file(await download.path()).text())
    const cell = (line: readonly string[], name: string) => line[head.indexOf(name)] ?? ''
    expect(lines.length).toBe(60)
    expect(cell(lines[0] ?? [], 'note')).toBe('the last, "quoted"')
    const sum = lines.reduce((total, line) => total + billionths(cell(line, 'amount')), 0n)
    expect(billionths((await accountNow(account.id)).balance)).toBe(sum)
    expect(cell(lines[0] ?? [], 'balance')).toBe((await accountNow(account.id)).balance)
  })

  test('says which of two limits gave which refusal: to newcomers, and where the balance refuses', async () => {
    const rich = await newAccount('rich', '10')
    const poor = await newAccount('poor', '0.001')
    const page = await open(`?account=${rich.id}`)
    const gates = page.locator('.billing-gate')
    // As in a browser that has never been here.
    await page.evaluate('localStorage.clear()')
    await page.reload()
    await settled(page)
    expect(await gates.first().innerText()).toMatch(/403 insufficient_user_quota\s+Helps: a top-up or a code/)
    expect(await gates.last().innerText()).toMatch(
      /403 pre_consume_token_quota_failed\s+Helps: raising or removing the cap/,
    )
    const tops = await page
      .locator('.billing-refusal')
      .evaluateAll(all => all.map(box => box.getBoundingClientRect().y))
    expect(tops[0]).toBe(tops[1])
    await page.reload()
    await settled(page)
    expect(await gates.first().isVisible()).toBe(false)

    await page.getByLabel('Account').selectOption({ label: 'poor' })
    await page.locator('.note').filter({ hasText: 'Too little money on the account' }).waitFor()
    expect(await page.getByText('used up').count()).toBe(0)
    await gates.first().waitFor()
    expect(new URL(page.url()).searchParams.get('account')).toBe(poor.id)
  })

  // ── notices ───────────────────────────────────────────────────────────────────────────────────────────────────────

  test('a low-balance notice is set up, tried out, and signed with the secret that was shown', async () => {
    const webhook = startWebhook()
    const account = await newAccount('watched', '20')
    const page = await open(`/notice?account=${account.id}`)
    await page.getByRole('button', { name: 'Set up a notice' }).click()
    const form = page.getByRole('dialog', { name: 'Low-balance notice of watched' })
    await form.getByLabel('Threshold').fill('5')
    await form.getByLabel('Webhook address').fill('ftp://example.com')
    await form.getByRole('button', { name: 'Save' }).click()
    await form.getByRole('alert').filter({ hasText: 'http or https' }).waitFor()
    await form.getByLabel('Webhook address').fill(`${webhook.url}/hook?token=hidden`)
    await form.getByRole('button', { name: 'Save' }).click()
    const shown = page.getByRole('dialog', { name: 'The secret of your webhook' })
    const secret = await shown.locator('pre').innerText()
    await shown.getByRole('button', { name: 'Done' }).click()
    await page.getByText(`${webhook.url}/hook?…`).waitFor()
    expect(await page.getByText('hidden').count()).toBe(0)

    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByText('The test arrived: the webhook answered with 200.').waitFor()
    const [delivery] = webhook.deliveries
    expect(delivery?.body).toMatchObject({ event: 'test', account: { name: 'watched' }, threshold: '5.00' })
    expect(delivery?.headers.get('x-duet-signature')).toBe(signatureOf(secret.trim(), delivery?.text ?? ''))

    webhook.answer(() => new Response('no', { status: 503 }))
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByText('answered with status 503').waitFor()

    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('Nobody is told when money runs low').waitFor()
    await webhook.stop()
  })
})

const stat = (page: Page, label: string): Locator =>
  page.locator('.stat').filter({ has: page.getByText(label, { exact: true }) })

const ledger = (page: Page): Locator => page.getByRole('table', { name: 'Ledger' })

/** By the rules of RFC 4180. */
function parseCsv(text: string): string[][] {
  const cell = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n|$)/y
  const lines: string[][] = [[]]
  while (cell.lastIndex < text.length) {
    const [, value = '', end] = cell.exec(text) ?? []
    lines.at(-1)?.push(value.startsWith('"') ? value.slice(1, -1).replaceAll('""', '"') : value)
    if (end === '\r\n' && cell.lastIndex < text.length) lines.push([])
  }
  return lines
}

function billionths(amount: string): bigint {
  const [whole = '0', fraction = ''] = amount.split('.')
  return BigInt(whole + fraction.padEnd(9, '0'))
}
