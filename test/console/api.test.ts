import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeInBrowser, openConsole, settled, urlsOf } from '../support/browser.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { inviteMember, type Person, signInAsOperator } from '../support/people.ts'

describeInBrowser('the reference of the API', () => {
  let duet: Duet
  let operator: Person
  let document: JsonBody

  beforeAll(async () => {
    duet = await startDuet()
    operator = await signInAsOperator(duet)
    document = await (await fetch(`${duet.url}/api/openapi.json`)).json()
  })
  afterAll(() => duet.stop())

  const open = async (path: string, as = operator) => {
    const page = await openConsole(duet, { path: `/api${path}`, as })
    await settled(page)
    return page
  }
  const documented = (): string[] =>
    Object.entries<JsonBody>(document.paths).flatMap(([path, operations]) =>
      Object.entries<JsonBody>(operations).map(([method, { summary }]) =>
        `${method.toUpperCase()} ${path} ${summary}`.replaceAll('`', ''),
      ),
    )

  test('has every call of the document, with who may call it, for members too', async () => {
    const page = await open('', await inviteMember(duet, 'reader'))
    expect((await shownCalls(page)).toSorted()).toEqual(documented().toSorted())
    const access = await page.locator('#postChannels .badge').textContent()
    expect([access, await page.locator('#postSession .badge').textContent()]).toEqual(['Admin', 'Open'])
    // The page itself, and nothing else, is what it takes.
    expect(urlsOf(page).filter(url => /\/api\/(?!session$|events$)/.test(url))).toEqual([
      `${duet.url}/api/openapi.json`,
    ])
  })

  test('finds calls by words, and keeps them in the address', async () => {
    const page = await open('')
    await page.keyboard.press('/')
    await page.keyboard.type('codes/redeem')
    await page.waitForURL(/q=codes/)
    expect((await shownCalls(page)).map(call => call.split(' ').slice(0, 2).join(' '))).toEqual([
      'POST /api/codes/redeem',
    ])
    await page.reload()
    await settled(page)
    expect(await shownCalls(page)).toHaveLength(1)
    await page.getByLabel('Search calls').fill('no such call')
    await page.getByText('No call is about that').waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.getByLabel('Who may call').selectOption('open')
    await page.waitForURL(/access=open/)
    const known = documented().filter(
      call => call.startsWith('POST /api/invites/') || call.includes('/api/session Sign in'),
    )
    expect(await shownCalls(page)).toEqual(expect.arrayContaining(known))
    expect(await page.locator('.api-call .badge').allTextContents()).not.toContain('Admin')
  })

  test('leads to one call by its address, and shows what it takes and answers', async () => {
    const page = await open('#postKeys')
    const call = page.locator('#postKeys')
    await call.getByRole('heading', { name: 'Body' }).waitFor()
    expect(await page.locator('.api-call[open]').count()).toBe(1)
    expect((await call.boundingBox())?.y).toBeWithin(0, 200)
    const names = async (heading: string) =>
      call
        .locator('section')
        .filter({ has: page.getByRole('heading', { name: heading }) })
        .locator('.api-schema > .api-members > li code.strong')
        .allTextContents()
    const operation = document.paths['/api/keys'].post
    const { properties } = operation.requestBody.content['application/json'].schema
    expect(await names('Body')).toEqual(Object.keys(properties))
    expect(await names('Answer')).toEqual(Object.keys(document.components.schemas.NewKeyView.properties))
    expect(await call.getByRole('heading', { name: 'Refusals' }).count()).toBe(1)
  })

  test('opens calls by keyboard, and the address follows', async () => {
    const page = await open('?q=keys')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    const call = page.locator('.api-call').nth(1)
    await call.getByRole('heading', { name: 'Example' }).waitFor()
    expect(new URL(page.url()).hash).toBe(`#${await call.getAttribute('id')}`)
  })

  test('unfolds what is inside of what, as deep as it goes', async () => {
    const page = await open('#getUsageById')
    const answer = page.locator('#getUsageById')
    await answer.getByText('receipt', { exact: true }).click()
    await answer.getByText('arithmetic', { exact: true }).click()
    await answer.getByText('rounding', { exact: true }).waitFor()
  })

  test('gives examples that work once they are filled in', async () => {
    const page = await open('#postAccounts')
    const example = page.locator('#postAccounts').getByRole('region', { name: /^Example/ })
    const command = ((await example.textContent()) ?? '').replace('<text>', 'made by hand')
    const env = { DUET_ADMIN_TOKEN: duet.adminToken, PATH: process.env.PATH ?? '' }
    const ran = Bun.spawnSync(['sh', '-c', `${command} -s`], { env })
    expect(JSON.parse(ran.stdout.toString())).toMatchObject({ name: 'made by hand', balance: '0.00' })
  })
})

/** `GET /api/keys List keys ...`, as they stand there. */
async function shownCalls(page: Page): Promise<string[]> {
  const rows = await page.locator('.api-call').all()
  return Promise.all(
    rows.map(async row =>
      [
        await row.locator('.api-method').textContent(),
        await row.locator('.api-path').textContent(),
        await row.locator('.api-summary').textContent(),
      ].join(' '),
    ),
  )
}
