import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import type { Page } from 'playwright-core'
import { describeInBrowser, openConsole, settled } from '../support/browser.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { inviteMember, type Person, signInAsOperator } from '../support/people.ts'

const MODEL = 'anthropic/claude-haiku-4.5'
const OTHER = 'openai/gpt-4.1'

/** A file that leaves the catalog as it is built in. */
const NOTHING = 'aliases: {}\n'

describeInBrowser('models', () => {
  let duet: Duet
  let operator: Person
  let member: Person

  beforeAll(async () => {
    duet = await startDuet({ config: NOTHING })
    operator = await signInAsOperator(duet)
    member = await inviteMember(duet, 'mia')
  })
  afterAll(() => duet.stop())

  const open = async (path = '', as = operator) => {
    const page = await openConsole(duet, { path: `/models${path}`, as })
    await settled(page)
    return page
  }
  const modelNow = async (id: string): Promise<JsonBody> =>
    (await duet.admin('GET', '/api/models')).body.data.find((model: JsonBody) => model.id === id)
  const client = () => new OpenAI({ baseURL: duet.base, apiKey: duet.key, maxRetries: 0 })
  const call = async (model: string) => {
    const { data, response } = await client()
      .chat.completions.create({ model, messages: [{ role: 'user', content: 'Hello' }], max_completion_tokens: 20 })
      .withResponse()
    const { body } = await duet.admin('GET', `/api/usage/${response.headers.get('x-request-id')}`)
    return { answer: data.choices[0]?.message.content, receipt: body as JsonBody }
  }
  const statusOf = async (model: string): Promise<number> =>
    call(model).then(
      () => 200,
      error => error.status,
    )
  const panel = (page: Page, name: string) => page.getByRole('dialog', { name, exact: true })
  const prices = (page: Page) => page.getByRole('table', { name: 'Prices', exact: true }).locator('tbody tr')

  test('a changed price is a new version, which the next bill is made with', async () => {
    const before = await modelNow(MODEL)
    const page = await open(`/${encodeURIComponent(MODEL)}`)
    await prices(page).first().getByText('In force').waitFor()
    expect(await prices(page).count()).toBe(1)

    await page.getByRole('link', { name: 'Edit' }).click()
    const dialog = page.getByRole('dialog', { name: `Edit ${before.name}` })
    await dialog.getByLabel('Input').fill('two')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Write an amount such as 0.25.').waitFor()
    await dialog.getByLabel('Input').fill('123.45')
    await dialog.getByText('This makes price version 2').waitFor()
    const change = dialog.getByRole('row', { name: /^Input/ })
    expect(await change.locator('data').evaluateAll(cells => cells.map(cell => cell.getAttribute('value')))).toEqual([
      before.price.input,
      '123.45',
    ])
    await dialog.getByRole('button', { name: 'Save' }).click()
    const meant = page.getByRole('dialog', { name: `Change the price of ${before.name}?` })
    await meant.getByText('more than double').waitFor()
    expect(await meant.getByRole('row', { name: /^Input/ }).innerText()).toMatch(/\$1\.00\s+\$123\.45\s+× 123/)
    expect(await meant.getByRole('row', { name: /^Output/ }).innerText()).not.toContain('×')
    await meant.getByRole('button', { name: 'Cancel' }).click()
    expect((await modelNow(MODEL)).price).toEqual(before.price)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await meant.getByRole('button', { name: 'Change price' }).click()
    await dialog.waitFor({ state: 'detached' })

    await prices(page).nth(1).waitFor()
    expect(await prices(page).first().innerText()).toMatch(/\d{2}:\d{2}:\d{2}/)
    expect(await prices(page).first().innerText()).toContain('v2')
    await prices(page).first().getByText('$123.45').waitFor()
    expect(await prices(page).nth(1).getByText('In force').count()).toBe(0)
    const { receipt } = await call(MODEL)
    expect(receipt.receipt.price).toMatchObject({ version: 2, input: '123.45', output: before.price.output })
  })

  test('a built-in model that was changed is restored as it was', async () => {
    const page = await open(`/${encodeURIComponent(MODEL)}`)
    await page.getByText('It comes with Duet and was changed here.').waitFor()
    await page.getByRole('button', { name: `Actions for ${MODEL}` }).click()
    await page.getByRole('menuitem', { name: 'Restore built-in' }).click()
    await page.getByRole('button', { name: 'Restore built-in' }).click()
    await page.getByText('It comes with Duet and was changed here.').waitFor({ state: 'detached' })
    await prices(page).nth(2).waitFor()
    expect(await modelNow(MODEL)).toMatchObject({ origin: 'builtin', price: { version: 3 } })
  })

  test('one that is added without a price is refused until it has one', async () => {
    const page = await open()
    await page.getByRole('link', { name: 'Add model' }).click()
    const adding = page.getByRole('dialog', { name: 'Add model' })
    await adding.getByLabel('Id', { exact: true }).fill('swift')
    await adding.getByRole('button', { name: 'Add model' }).click()
    await adding.getByText('It must have the form vendor/model, without spaces.').waitFor()
    await adding.getByLabel('Id', { exact: true }).fill('acme/swift-2')
    await adding.getByLabel('Name').fill('Swift 2')
    await adding.getByText('Requests for it are refused until it has a price').waitFor()
    await adding.getByRole('button', { name: 'Add model' }).click()
    await adding.waitFor({ state: 'detached' })

    const shown = panel(page, 'Swift 2')
    await shown.getByText('It has no price').waitFor()
    expect(page.url()).toBe(`${duet.url}/console/models/acme%2Fswift-2`)
    await page
      .getByRole('row', { name: /acme\/swift-2/ })
      .getByText('No price')
      .waitFor()
    expect(await statusOf('acme/swift-2')).toBeGreaterThanOrEqual(400)

    await shown.getByRole('link', { name: 'Edit' }).click()
    const editing = page.getByRole('dialog', { name: 'Edit Swift 2' })
    await editing.getByLabel('Input').fill('0.000000125')
    await editing.getByLabel('Output').fill('4')
    await editing.getByText('With its first price').waitFor()
    await editing.getByRole('button', { name: 'Save' }).click()
    await shown.getByText('It has no price').waitFor({ state: 'detached' })
    expect((await modelNow('acme/swift-2')).price).toMatchObject({ input: '0.000000125', cache_read: '0.000000125' })
    const { answer, receipt } = await call('acme/swift-2')
    expect(answer).toBeTruthy()
    expect(receipt.receipt.price).toMatchObject({ version: 1, output: '4.00' })
  })

  test('one that is switched off is refused, and can be brought back at once', async () => {
    const page = await open('/acme%2Fswift-2')
    await page.getByRole('button', { name: 'Switch off' }).click()
    await page.getByText('It is not listed to callers').waitFor()
    expect(await statusOf('acme/swift-2')).toBeGreaterThanOrEqual(400)
    expect((await client().models.list()).data.map(({ id }) => id)).not.toContain('acme/swift-2')
    await page.getByRole('status').getByRole('button', { name: 'Switch on' }).click()
    await page.getByText('It is not listed to callers').waitFor({ state: 'detached' })
    expect(await statusOf('acme/swift-2')).toBe(200)

    await page.getByRole('button', { name: 'Actions for acme/swift-2' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete model' }).click()
    await page
      .getByRole('row', { name: /acme\/swift-2/ })
      .first()
      .waitFor({ state: 'detached' })
    expect(await modelNow('acme/swift-2')).toBeUndefined()
  })

  test('filters are in the address, rows are walked by keyboard, and a panel leaves the list as it was', async () => {
    const page = await open()
    await page.keyboard.press('/')
    await page.keyboard.type('GPT')
    await page
      .getByRole('row', { name: /claude/ })
      .first()
      .waitFor({ state: 'detached' })
    expect(page.url()).toContain('q=GPT')
    await page.getByLabel('Show', { exact: true }).selectOption('Reasoning')
    await page.getByRole('row', { name: /openai\/gpt-4.1/ }).waitFor({ state: 'detached' })
    await page.locator('h1').click()
    await page.keyboard.press('j')
    const id = await page.locator('[data-row-link]:focus .mono').innerText()
    const shown = page.getByRole('dialog').getByRole('button', { name: `Copy ${id}` })
    await page.keyboard.press('Enter')
    await shown.waitFor()
    expect(page.url()).toContain(`/models/${encodeURIComponent(id)}?q=GPT&only=reasoning`)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(page.url()).toBe(`${duet.url}/console/models?q=GPT&only=reasoning`)
    await page.goBack()
    await shown.waitFor()
  })

  test('a member sees models and prices, but no channels and nothing to change', async () => {
    const page = await open('', member)
    const row = page.getByRole('row', { name: new RegExp(OTHER) })
    await row.waitFor()
    expect(await page.getByRole('link', { name: 'Add model' }).count()).toBe(0)
    expect(await page.getByRole('columnheader', { name: 'Served by' }).count()).toBe(0)
    expect(await page.getByText('Built in').count()).toBe(0)
    await row.getByRole('link').click()
    const shown = page.getByRole('dialog')
    await prices(page).first().getByText('In force').waitFor()
    await shown.getByRole('link', { name: 'Try in playground' }).waitFor()
    expect(await shown.getByRole('link', { name: 'Edit' }).count()).toBe(0)
    expect(await shown.getByRole('button', { name: /Switch|Actions/ }).count()).toBe(0)
    expect(await page.getByText('sandbox-chat').count()).toBe(0)
    expect(await page.getByRole('navigation').getByRole('link', { name: 'Channels' }).count()).toBe(0)

    for (const path of ['/models/new', `/models/${encodeURIComponent(OTHER)}?edit=true`]) {
      await page.goto(`${duet.url}/console${path}`)
      await settled(page)
      expect(await page.getByRole('button', { name: /Save|Add model/ }).count()).toBe(0)
    }
    await page.goto(`${duet.url}/console/channels`)
    await page.getByText('There is nothing at this address').waitFor()
  })

  test('the first channel says before and after it which models the sandbox leaves behind', async () => {
    const all = (await duet.admin('GET', '/api/models')).body.data.length as number
    const page = await openConsole(duet, { path: '/channels/new', as: operator, width: 390, height: 844 })
    await page.getByLabel('Base URL').fill('http://127.0.0.1:9/v1')
    await page.getByLabel('Name', { exact: true }).fill('first')
    await page.getByRole('checkbox', { name: OTHER, exact: true }).check()
    await page.getByText(`only the models it serves can be called; ${all - 1} others will have nobody`).waitFor()
    await page.getByRole('button', { name: 'Add channel' }).click()
    await page.getByText('The sandbox has stopped answering').waitFor()
    await page.getByText(`${all - 1} models of the catalog have no channel now`).waitFor()
    await page.getByRole('link', { name: 'See which' }).click()

    await page.getByText(`${all - 1} models are served by no channel`).waitFor()
    const rows = page.getByRole('table').locator('tbody tr')
    expect(await rows.count()).toBe(all - 1)
    expect(await rows.getByText('No channel', { exact: true }).filter({ visible: true }).count()).toBe(all - 1)
    await duet.admin('DELETE', '/api/channels/first')
    await page.getByText('are served by no channel').waitFor({ state: 'detached' })
  })

  // Last, because a file's models stand in for all that are built in.
  test('what duet.yaml defines is read-only and says where it is defined', async () => {
    const path = join(duet.folder, 'duet.yaml')
    writeFileSync(path, 'models:\n  - { id: acme/filed, name: Filed, price: { input: 1, output: 2 } }\n')
    expect((await duet.admin('POST', '/api/config/reload')).status).toBe(200)
    const page = await open('/acme%2Ffiled')
    const shown = panel(page, 'Filed')
    await shown.getByText('Change it there, then read the file again.').waitFor()
    expect(await shown.getByRole('link', { name: 'Edit' }).count()).toBe(0)
    expect(await shown.getByRole('button', { name: /Switch|Actions/ }).count()).toBe(0)
    await page.goto(`${duet.url}/console/models/acme%2Ffiled?edit=true`)
    await shown.getByText('Defined in duet.yaml').waitFor()
    expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0)

    // The file no longer says it: everything follows by itself.
    writeFileSync(path, NOTHING)
    await shown.getByRole('button', { name: 'Read duet.yaml again' }).click()
    await page.getByText('The catalog has no model acme/filed.').waitFor()
    await page.getByRole('row', { name: new RegExp(OTHER) }).waitFor()
  })
})
