import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeInBrowser, openConsole, settled, urlsOf } from '../support/browser.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { CHAT, post, user } from '../support/http.ts'
import { inviteMember, type Person, signInAsOperator } from '../support/people.ts'

const ASK = { model: 'anthropic/claude-haiku-4.5', max_tokens: 40, messages: user('Hello') }

describeInBrowser('a member', () => {
  let duet: Duet
  let operator: Person
  let member: Person
  /** One key and one request of each of the two. */
  let theirs: Traces
  let others: Traces

  beforeAll(async () => {
    duet = await startDuet()
    operator = await signInAsOperator(duet)
    member = await inviteMember(duet, 'Mei')
    await duet.admin('POST', `/api/accounts/${accountOf(member)}/topups`, { amount: '7' })
    theirs = await leaveTraces(accountOf(member), 'key of the member')
    others = await leaveTraces(accountOf(operator), 'key of the operator')
  })
  afterAll(() => duet.stop())

  interface Traces {
    readonly keyId: string
    readonly requestId: string
  }

  const leaveTraces = async (account: string, name: string): Promise<Traces> => {
    const { body } = await duet.admin('POST', '/api/keys', { account, name })
    const { headers } = await post(duet, CHAT, ASK, { key: body.key })
    return { keyId: body.id, requestId: headers.get('x-request-id') ?? '' }
  }
  const open = async (path: string) => {
    const page = await openConsole(duet, { path, as: member })
    await settled(page)
    return page
  }

  test('is invited by a link, and signs up with it in another browser', async () => {
    const page = await openConsole(duet, { path: '/people', as: operator })
    await page.getByRole('button', { name: 'Invite' }).click()
    await page.getByLabel('Name').fill('Ada')
    await page.getByRole('button', { name: 'Make the link' }).click()
    const link = await page.getByLabel('Link', { exact: true }).inputValue()
    await page.getByRole('button', { name: 'Done' }).click()

    const elsewhere = await openConsole(duet, { path: link.slice(link.indexOf('/welcome')) })
    await elsewhere.getByRole('heading', { name: 'You are invited' }).waitFor()
    expect(await elsewhere.getByLabel('Name').inputValue()).toBe('Ada')
    await elsewhere.getByLabel('Password', { exact: true }).fill('a password of her own')
    await elsewhere.getByRole('button', { name: 'Accept and sign in' }).click()
    await elsewhere.locator('.user-name').getByText('Ada').waitFor()
    await elsewhere.locator('.user-name').getByText('Member').waitFor()

    await page.reload()
    await page.getByRole('table', { name: 'Users' }).getByText('Ada', { exact: true }).first().waitFor()
    const users: JsonBody[] = (await duet.admin('GET', '/api/users')).body.data
    expect(users.find(({ name }) => name === 'Ada')).toMatchObject({ role: 'member', enabled: true })
  })

  test('sees the keys of their own account and no other', async () => {
    const page = await open('/keys')
    const table = page.getByRole('table', { name: 'Keys' })
    await table.getByText('key of the member', { exact: true }).waitFor()
    expect(await table.getByText('key of the operator').count()).toBe(0)
    await page.goto(`${duet.url}/console/keys/${others.keyId}`)
    await page.getByText('Not found').first().waitFor()
    expect(await page.getByText('key of the operator').count()).toBe(0)
  })

  test('sees the requests of their own account and no other', async () => {
    const page = await open('/requests')
    await page.locator(`a[href*="${theirs.requestId}"]`).first().waitFor()
    expect(await page.locator(`a[href*="${others.requestId}"]`).count()).toBe(0)
    await page.goto(`${duet.url}/console/requests/${others.requestId}`)
    await page.getByText('Not found').first().waitFor()
  })

  test('sees the money of their own account, and no way to make some', async () => {
    const page = await open('/billing')
    const { body } = await member.call('GET', `/api/accounts/${accountOf(member)}`)
    await page.locator(`main data[value="${body.balance}"]`).first().waitFor()
    expect(await page.getByRole('button', { name: 'Top up' }).count()).toBe(0)
    expect(await page.getByRole('tab', { name: 'Redemption codes' }).count()).toBe(0)
    await page.goto(`${duet.url}/console/billing?topup=true&account=${accountOf(operator)}`)
    await settled(page)
    expect(await page.getByRole('dialog').count()).toBe(0)
    await page.locator(`main data[value="${body.balance}"]`).first().waitFor()
  })

  test('has an overview of their own account', async () => {
    const page = await open('')
    await page.getByText('key of the member').first().waitFor()
    expect(await page.getByText('key of the operator').count()).toBe(0)
  })

  test('finds no admin pages in the menu, by address, by shortcut or by search', async () => {
    const page = await open('/settings')
    const menu = page.getByRole('navigation', { name: 'Main navigation' })
    const names = await menu.getByRole('link').allTextContents()
    expect(names).toEqual(['Overview', 'Keys', 'Billing', 'Requests', 'Models', 'Playground', 'Settings', 'API'])
    await page.keyboard.press('g')
    await page.keyboard.press('c')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search and commands' }).waitFor()
    await page.keyboard.type('channels')
    await page.getByText('Nothing has that name').waitFor()
    expect(new URL(page.url()).pathname).toBe('/console/settings')
    for (const path of ['/channels', '/people', '/channels/sandbox-chat']) {
      await page.goto(`${duet.url}/console${path}`)
      await page.getByRole('heading', { name: 'Not found' }).waitFor()
    }
    expect(urlsOf(page).filter(url => /\/api\/(channels|users|invites)/.test(url))).toEqual([])
  })

  test('redeems a code, once, and has its money at once', async () => {
    const { body } = await duet.admin('POST', '/api/codes', { amount: '12.5' })
    const [{ code }] = body.data
    const page = await open('/billing')
    const before = Number((await member.call('GET', `/api/accounts/${accountOf(member)}`)).body.balance)
    await redeem(page, code)
    await page.getByText('Code redeemed: $12.50 added').waitFor()
    const { balance } = (await member.call('GET', `/api/accounts/${accountOf(member)}`)).body
    expect(Number(balance)).toBeCloseTo(before + 12.5, 9)
    await page.locator(`.sidebar data[value="${balance}"]`).waitFor()
    await redeem(page, code)
    await page.getByText('This code was redeemed already. A code works once.').waitFor()
    expect((await member.call('GET', `/api/accounts/${accountOf(member)}`)).body.balance).toBe(balance)
  })
})

const accountOf = ({ session }: Person): string => session.account.id

async function redeem(page: Page, code: string): Promise<void> {
  await page.getByRole('button', { name: 'Redeem a code' }).click()
  const dialog = page.getByRole('dialog', { name: 'Redeem a code' })
  await dialog.getByLabel('Code').fill(code)
  await dialog.getByRole('button', { name: 'Redeem' }).click()
}
