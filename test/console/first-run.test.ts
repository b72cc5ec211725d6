import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeInBrowser, openConsole, urlsOf } from '../support/browser.ts'
import { type Duet, startDuet } from '../support/duet.ts'
import { firstLink, inviteMember, OPERATOR, signIn, signInAsOperator, tokenOf } from '../support/people.ts'

describeInBrowser('the first run', () => {
  let duet: Duet
  beforeAll(async () => {
    duet = await startDuet()
  })
  afterAll(() => duet.stop())

  const welcome = () => openConsole(duet, { path: `/welcome#${tokenOf(firstLink(duet))}` })

  test('shows nobody anything but the way in', async () => {
    const page = await openConsole(duet, { path: '' })
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    for (const path of ['/keys', '/billing', '/requests', '/channels', '/people']) {
      await page.goto(`${duet.url}/console${path}`)
      await page.waitForURL('**/sign-in?next=*')
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    }
    const asked = urlsOf(page).filter(url => url.includes('/api/'))
    expect(asked.filter(url => !url.endsWith('/api/session'))).toEqual([])
  })

  test('asks for a name and a password, says what is missing, and to open the link again after a reload', async () => {
    const page = await welcome()
    await page.getByRole('heading', { name: 'Welcome to Duet' }).waitFor()
    await page.getByLabel('Password', { exact: true }).fill('short')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByText('Enter a name.').waitFor()
    await page.getByText('Use at least 10 characters.').waitFor()
    await page.getByLabel('Password', { exact: true }).fill('password123')
    await page.getByText('Easy to guess').waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Open the link again' }).waitFor()
    expect(await page.getByText('duet users invite').count()).toBe(0)
  })

  test('signs the operator in with the link, which leaves the address at once', async () => {
    const token = tokenOf(firstLink(duet))
    const page = await welcome()
    await page.getByRole('heading', { name: 'Welcome to Duet' }).waitFor()
    expect(page.url()).toBe(`${duet.url}/console/welcome`)
    await page.getByLabel('Name').fill(OPERATOR.name)
    await page.getByLabel('Password', { exact: true }).fill(OPERATOR.password)
    await page.getByRole('button', { name: 'Start' }).click()
    await expectSignedIn(page, OPERATOR.name)
    await page.reload()
    await expectSignedIn(page, OPERATOR.name)

    const [cookie] = await page.context().cookies(`${duet.url}/api/session`)
    expect(cookie).toMatchObject({ name: 'duet_session', httpOnly: true, sameSite: 'Strict', path: '/api' })
    expect(await page.evaluate<string>('document.cookie')).toBe('')
    // Browsers name the address with what stands behind `#`, but do not send that; reloads and the rest never had it.
    expect(urlsOf(page).slice(1).join('\n')).not.toContain(token)
    expect(duet.output().slice(duet.output().indexOf('{"time"'))).not.toContain(token)
  })

  test('does not work twice', async () => {
    const page = await welcome()
    await page.getByRole('heading', { name: 'This link cannot be used' }).waitFor()
    expect(await page.getByText('duet users invite').isVisible()).toBe(false)
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  })

  test('speaks Chinese to whoever does', async () => {
    const page = await openConsole(duet, { path: '/sign-in', language: 'zh-CN' })
    await page.getByRole('button', { name: '登录' }).waitFor()
    expect(await page.locator('html').getAttribute('lang')).toStartWith('zh')
  })
})

describeInBrowser('somebody with a password', () => {
  let duet: Duet
  beforeAll(async () => {
    duet = await startDuet()
    await signInAsOperator(duet)
  })
  afterAll(() => duet.stop())

  const enter = async (page: Page, { name, password }: { name: string; password: string }) => {
    await page.getByLabel('Name').fill(name)
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }

  test('goes on where they wanted to go, after a wrong password too', async () => {
    const page = await openConsole(duet, { path: '/settings' })
    await enter(page, { ...OPERATOR, password: 'not the password' })
    await page.getByText('Name or password is wrong.').waitFor()
    await enter(page, OPERATOR)
    await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/console/settings')
    expect(urlsOf(page).join('\n')).not.toContain(encodeURIComponent(OPERATOR.password))
  })

  test('signs in by keyboard alone', async () => {
    const page = await openConsole(duet, { path: '/sign-in' })
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.keyboard.type(OPERATOR.name)
    await page.keyboard.press('Tab')
    await page.keyboard.type(OPERATOR.password)
    await page.keyboard.press('Enter')
    await expectSignedIn(page, OPERATOR.name)
  })

  test('is slowed down after ten wrong passwords, and says so', async () => {
    await inviteMember(duet, 'guessed')
    const page = await openConsole(duet, { path: '/sign-in' })
    for (let guesses = 0; guesses < 10; guesses++) {
      const answered = page.waitForResponse(response => response.request().method() === 'POST')
      await enter(page, { name: 'guessed', password: `guess ${guesses}` })
      expect((await answered).status()).toBe(401)
    }
    await enter(page, { name: 'guessed', password: 'the password of guessed' })
    await page.getByText(/Too many attempts. Try again in \d+ minutes?\./).waitFor()
  })

  test('signs out, and the way back shows nothing', async () => {
    const page = await openConsole(duet, { path: '/people', as: await signIn(duet, OPERATOR) })
    await expectSignedIn(page, OPERATOR.name)
    await page.goto(`${duet.url}/console/settings`)
    await expectSignedIn(page, OPERATOR.name)
    // Anywhere on it, not only on the dots.
    await page.locator('.user').click({ position: { x: 12, y: 12 } })
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await page.context().cookies(`${duet.url}/api/session`)).toEqual([])
    await page.goBack()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  })

  test('has a new password, which signs out all other browsers', async () => {
    const here = await inviteMember(duet, 'mover')
    const given = { name: 'mover', password: 'the password of mover' }
    const page = await openConsole(duet, { path: '/settings', as: here })
    const elsewhere = await openConsole(duet, { path: '/settings', as: await signIn(duet, given) })
    await expectSignedIn(elsewhere, 'mover')

    await page.getByLabel('Current password').fill('not the password')
    await page.getByLabel('New password').fill('another password')
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByText('That is not your current password.').waitFor()
    await page.getByLabel('Current password').fill(given.password)
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByText('Password changed.').waitFor()

    // Nobody touches that one.
    await elsewhere.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.reload()
    await expectSignedIn(page, 'mover')
  })

  test('sees their other sessions, and ends them one by one or all at once', async () => {
    const here = await inviteMember(duet, 'many')
    const given = { name: 'many', password: 'the password of many' }
    const others = [await signIn(duet, given), await signIn(duet, given), await signIn(duet, given)]
    const page = await openConsole(duet, { path: '/settings', as: here })
    const table = page.getByRole('table', { name: 'Sessions' })
    const ends = table.getByRole('button', { name: 'Sign out there' })
    await table.getByText('This browser').waitFor()
    expect(await ends.count()).toBe(3)
    await ends.first().click()
    await page.getByText('Signed out there.').waitFor()
    expect(await ends.count()).toBe(2)
    await page.getByRole('button', { name: 'Sign out everywhere else' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere else' }).click()
    await page.getByText('Signed out everywhere else.').waitFor()
    const statuses = await Promise.all(others.map(async other => (await other.call('GET', '/api/session')).status))
    expect(statuses).toEqual([401, 401, 401])
  })

  test('is not robbed by a form on a page of another site, though the cookie is there', async () => {
    const form = `<form method="post" enctype="text/plain" action="${duet.url}/api/accounts">
      <input name='{"name":"forged","group":"' value='"}'><button>Win a prize</button></form>`
    const elsewhere = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => new Response(form, { headers: { 'content-type': 'text/html' } }),
    })
    const page = await openConsole(duet, { path: '/settings', as: await signIn(duet, OPERATOR) })
    await expectSignedIn(page, OPERATOR.name)
    await page.goto(`http://localhost:${elsewhere.port}/`)
    const answered = page.waitForResponse(`${duet.url}/api/accounts`)
    await page.getByRole('button', { name: 'Win a prize' }).click()
    expect([401, 403]).toContain((await answered).status())
    const { body } = await duet.admin('GET', '/api/accounts')
    expect(JSON.stringify(body)).not.toContain('forged')
    await elsewhere.stop(true)
  })
})

/** The frame around every page names who is signed in. */
const expectSignedIn = (page: Page, name: string) => page.locator('.user-name').getByText(name).waitFor()
