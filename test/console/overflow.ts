import type { Page } from 'playwright-core'

/** By how many pixels the page, and each table on it, is wider than the room it has. */
export const overflowsOf = (page: Page): Promise<number[]> =>
  page
    .locator('html, .table-frame')
    .evaluateAll(elements => elements.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))
