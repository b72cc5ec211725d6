import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openConsole, settled, withBrowser } from '../support/browser.ts'
import { cleanUp } from '../support/duet.ts'
import { type Stage, startUsedDuet } from './stage.ts'

/** Makes the pictures of the README anew, from a Duet with two weeks of made-up work behind it. */

const FOLDER = join(import.meta.dir, '../../docs/images')
const SIZES = [
  { width: 390, height: 844 },
  { width: 820, height: 1180 },
  { width: 1440, height: 900 },
]
const THEMES = ['light', 'dark'] as const
/** Everybody who clones the repository has them. */
const BYTES_MAX = 1_500_000

interface Picture {
  readonly name: string
  readonly path: string
  /** What is done before it is taken. */
  readonly prepare?: (page: Page) => Promise<void>
  readonly hasShadows?: boolean
}

const PICTURES: readonly Picture[] = [
  { name: 'overview', path: '?days=7', prepare: showCharts },
  { name: 'keys', path: '/keys' },
  { name: 'requests', path: '/requests' },
  { name: 'playground', path: '/playground', prepare: play, hasShadows: true },
]

async function showCharts(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Dismiss the first steps' }).click()
  await page.locator('canvas').first().waitFor()
}

async function play(page: Page): Promise<void> {
  await page.getByRole('radio', { name: 'Side by side' }).check()
  await page.getByPlaceholder('Ask something').fill('Why is the sky blue?')
  await page.keyboard.press('Control+Enter')
  // Both have been answered when both have been billed.
  await page.getByRole('article').getByText('$').nth(1).waitFor()
}

async function takePicture(page: Page, file: string, hasShadows: boolean): Promise<number> {
  const taken = await page.screenshot({ animations: 'disabled', caret: 'hide' })
  // A palette takes a third of the room; but it makes steps of a shadow.
  return hasShadows
    ? Bun.write(file, taken)
    : new Bun.Image(taken).png({ palette: true, compressionLevel: 9 }).write(file)
}

async function takePictures({ duet, operator }: Stage): Promise<number> {
  let bytes = 0
  for (const { name, path, prepare, hasShadows = false } of PICTURES) {
    for (const theme of THEMES) {
      for (const { width, height } of SIZES) {
        const page = await openConsole(duet, { path, theme, width, height, as: operator })
        await settled(page)
        await prepare?.(page)
        const file = join(FOLDER, `${name}-${width}${theme === 'dark' ? '-dark' : ''}.png`)
        bytes += await takePicture(page, file, hasShadows)
        await page.context().close()
      }
    }
  }
  return bytes
}

mkdirSync(FOLDER, { recursive: true })
const stage = await startUsedDuet({ days: 14, requestsADay: 60 })
try {
  await withBrowser(async () => {
    const bytes = await takePictures(stage)
    console.log(`${PICTURES.length * SIZES.length * THEMES.length} pictures, ${Math.round(bytes / 1000)} kB`)
    if (bytes > BYTES_MAX) throw new Error(`the pictures have more than ${BYTES_MAX} bytes`)
  })
} finally {
  await stage.duet.stop()
  cleanUp()
}
