import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Locator } from 'playwright-core'
import { describeInBrowser, openConsole, settled } from '../support/browser.ts'
import { type Duet, startDuet } from '../support/duet.ts'
import { type Person, signInAsOperator } from '../support/people.ts'

describeInBrowser('the frame around all pages', () => {
  let duet: Duet
  let operator: Person

  beforeAll(async () => {
    duet = await startDuet()
    operator = await signInAsOperator(duet)
  })
  afterAll(() => duet.stop())

  test('says what was done once at a time, at the top, and not over the button that closes a panel', async () => {
    const { body } = await duet.admin('POST', '/api/keys', { account: 'default', name: 'switched' })
    const page = await openConsole(duet, { path: `/keys/${body.id}`, as: operator })
    const panel = page.getByRole('dialog', { name: 'switched' })
    const toast = page.locator('.toast')
    await panel.getByRole('switch', { name: 'Enabled' }).uncheck()
    await toast.getByText('The key is disabled').waitFor()
    await panel.getByRole('switch', { name: 'Enabled' }).check()
    await toast.getByText('The key is enabled').waitFor()
    expect(await toast.count()).toBe(1)
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 844 })
      const told = await boxOf(toast)
      const close = await boxOf(panel.getByRole('button', { name: 'Close' }))
      expect(told.y + told.height).toBeLessThan(844 / 4)
      expect(told.x + told.width < close.x || told.y > close.y + close.height).toBe(true)
    }
  })

  test('tells a server that is down from one that was updated, and goes on by itself when it is back', async () => {
    const page = await openConsole(duet, { path: '/settings', as: operator, isCutOff: true })
    await settled(page)
    await page.locator('.connection.live').waitFor()
    await duet.stop()
    await page.locator('.connection.lost').waitFor()
    await page.locator('.sidebar').getByRole('link', { name: 'Models' }).click()
    await page.getByText('Duet cannot be reached').waitFor()
    const { folder, url } = duet
    duet = await startDuet({ folder, env: { DUET_PORT: new URL(url).port } })
    await page.getByRole('heading', { name: 'Models', level: 1 }).waitFor()
    await page.locator('.connection.live').waitFor()
  })
})

async function boxOf(element: Locator) {
  const box = await element.boundingBox()
  if (!box) throw new Error(`${element} is not to be seen`)
  return box
}
