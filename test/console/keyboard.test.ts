import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Locator, Page } from 'playwright-core'
import { describeInBrowser, openConsole, settled } from '../support/browser.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { CHAT, post, user } from '../support/http.ts'
import { type Person, signInAsOperator } from '../support/people.ts'

const ASK = { model: 'anthropic/claude-haiku-4.5', max_tokens: 40, messages: user('Hello') }

/** More than any of these pages has before its content. */
const STOPS = 30

describeInBrowser('without a mouse', () => {
  let duet: Duet
  let operator: Person

  beforeAll(async () => {
    duet = await startDuet()
    operator = await signInAsOperator(duet)
  })
  afterAll(() => duet.stop())

  const open = async (path: string) => {
    const page = await openConsole(duet, { path, as: operator })
    await settled(page)
    return page
  }

  test('the palette leads to a page and to a request by its id', async () => {
    const { headers } = await post(duet, CHAT, ASK, { key: duet.key })
    const id = headers.get('x-request-id') ?? ''
    const page = await open('/settings')
    await openPalette(page)
    await page.keyboard.type('billing')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Billing', level: 1 }).waitFor()
    expect(pathOf(page)).toBe('/console/billing')

    await openPalette(page)
    await page.keyboard.insertText(id)
    await page.getByRole('option', { name: `Open request ${id}` }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/console/requests/${id}`)
    await page.getByText(id).first().waitFor()
  })

  test('the palette finds keys and models, walks by arrows, and leaves by Escape', async () => {
    const page = await open('/settings')
    const start = page.getByRole('option')
    await openPalette(page)
    for (const name of ['Create key', 'Top up', 'Add channel', 'Invite somebody', 'Redeem a code', 'Sign out'])
      await start.filter({ hasText: name }).waitFor()
    await page.keyboard.type('theme dark')
    await page.keyboard.press('Enter')
    await page.locator('html[data-theme=dark]').waitFor()
    await openPalette(page)
    await page.keyboard.type('invite')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Invite' }).waitFor()
    await page.goBack()

    await openPalette(page)
    await page.keyboard.type('claude')
    const chosen = page.getByRole('option', { selected: true })
    const models = page.getByRole('option', { name: 'claude' })
    await models.nth(1).waitFor()
    const first = await chosen.textContent()
    await page.keyboard.press('ArrowDown')
    expect(await chosen.textContent()).not.toBe(first)
    await page.keyboard.press('ArrowUp')
    expect(await chosen.textContent()).toBe(first)
    await page.keyboard.press('Escape')
    await page.getByRole('combobox', { name: 'Search and commands' }).waitFor({ state: 'detached' })
    expect(pathOf(page)).toBe('/console/settings')
  })

  test('g and a letter lead to each page, but not while somebody types', async () => {
    const page = await open('/settings')
    const pages = {
      o: 'Overview',
      k: 'Keys',
      b: 'Billing',
      r: 'Requests',
      m: 'Models',
      c: 'Channels',
      p: 'Playground',
      u: 'People',
      s: 'Settings',
      a: 'API',
    }
    for (const [letter, title] of Object.entries(pages)) {
      await page.keyboard.press('g')
      await page.keyboard.press(letter)
      await page.getByRole('heading', { name: title, level: 1, exact: true }).waitFor()
    }
    await settled(page)
    await page.keyboard.press('/')
    await page.keyboard.type('gk')
    expect(await page.getByLabel('Search calls').inputValue()).toBe('gk')
    expect(pathOf(page)).toBe('/console/api')
  })

  test('? shows every shortcut, and Escape takes it away', async () => {
    const page = await open('/settings')
    await page.keyboard.press('?')
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await help.getByText('Search and commands').waitFor()
    await help.getByText('Playground').waitFor()
    // A dialog has the keyboard for itself.
    await page.keyboard.press('g')
    await page.keyboard.press('k')
    await page.keyboard.press('Escape')
    await help.waitFor({ state: 'detached' })
    expect(pathOf(page)).toBe('/console/settings')
  })

  test('the first stop skips the menu, and every stop can be seen', async () => {
    for (const path of ['/keys', '/playground', '/api']) {
      const page = await open(path)
      await page.keyboard.press('Tab')
      expect(await focused(page, 'textContent')).toBe('Skip to content')
      const unseen: string[] = []
      for (let stop = 0; stop < STOPS; stop++) {
        if (!(await page.evaluate<boolean>(IS_FOCUS_SEEN))) unseen.push(await focused(page, 'outerHTML.slice(0, 200)'))
        await page.keyboard.press('Tab')
      }
      expect(unseen).toEqual([])
    }
  })

  test('a dialog keeps the focus, and gives it back', async () => {
    const page = await open('/keys')
    const link = page.getByRole('link', { name: 'Create key' }).first()
    await link.focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Create a key' })
    await dialog.waitFor()
    expect(await dialog.getByLabel('Name').evaluate(isFocused)).toBe(true)
    for (let stop = 0; stop < STOPS; stop++) {
      await page.keyboard.press(stop % 5 === 4 ? 'Shift+Tab' : 'Tab')
      expect(await page.evaluate<boolean>(IS_FOCUS_INSIDE)).toBe(true)
    }
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(await link.evaluate(isFocused)).toBe(true)
    expect(pathOf(page)).toBe('/console/keys')
  })

  test('a key is created, saved, found in the list and opened', async () => {
    const page = await open('/settings')
    await page.keyboard.press('g')
    await page.keyboard.press('k')
    await page.getByRole('table', { name: 'Keys' }).waitFor()
    await page.keyboard.press('n')
    await page.getByRole('dialog', { name: 'Create a key' }).waitFor()
    await page.keyboard.type('made by hand')
    await tabTo(page, page.getByRole('radio', { name: 'No cap' }))
    await page.keyboard.press('ArrowRight')
    await tabTo(page, page.getByLabel('Cap in dollars'))
    await page.keyboard.type('5')
    await page.keyboard.press('Enter')

    const secret = (await page.getByRole('status', { name: 'The new key' }).textContent()) ?? ''
    expect((await post(duet, CHAT, ASK, { key: secret })).status).toBe(200)
    await page.keyboard.press('Escape')
    await tabTo(page, page.getByRole('button', { name: 'I have saved it' }))
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })

    const { body } = await duet.admin('GET', '/api/keys')
    const made = body.data.find(({ name }: JsonBody) => name === 'made by hand')
    expect(made).toMatchObject({ cap: '5.00', enabled: true })
    await stepTo(page, page.getByRole('link', { name: 'made by hand' }), 'j')
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/console/keys/${made.id}`)
    await page.getByRole('dialog').getByText('made by hand').first().waitFor()
    await page.keyboard.press('Escape')
    await page.waitForURL('**/console/keys')
  })
})

/** People look before they type. */
async function openPalette(page: Page): Promise<void> {
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search and commands' }).waitFor()
}

const pathOf = (page: Page): string => new URL(page.url()).pathname

/** Evaluated in the page. A field shows its focus on its frame, a row's link on the row, a choice beside the input. */
const IS_FOCUS_SEEN = `(() => {
  const element = document.activeElement
  const shown = [element, element.nextElementSibling, ...['.input-frame', 'form', 'tr'].map(host => element.closest(host))]
  return element === document.body || shown.some(part => part && getComputedStyle(part).outlineStyle === 'solid')
})()`

/** The body has it while it passes through the browser's own bars. */
const IS_FOCUS_INSIDE = `document.activeElement === document.body || document.activeElement.closest('dialog') !== null`

const isFocused = (element: { matches(selector: string): boolean }): boolean => element.matches(':focus')

const focused = (page: Page, what: string): Promise<string> => page.evaluate<string>(`document.activeElement.${what}`)

const tabTo = (page: Page, target: Locator): Promise<void> => stepTo(page, target, 'Tab')

async function stepTo(page: Page, target: Locator, key: 'Tab' | 'j'): Promise<void> {
  for (let stop = 0; stop < STOPS; stop++) {
    if (await target.evaluate(isFocused)) return
    await page.keyboard.press(key)
  }
  throw new Error(`${target} cannot be reached by ${key}`)
}
