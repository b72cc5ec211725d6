import { afterAll, beforeAll, expect, test } from 'bun:test'
import { describeInBrowser, openConsole, settled, urlsOf } from '../support/browser.ts'
import { type Stage, startUsedDuet } from './stage.ts'

/** Compressed; what is loaded later, such as charts, comes on top of it. */
const SCRIPT_BYTES_MAX = 60_000
const PAGES = [
  '',
  '/keys',
  '/billing',
  '/requests',
  '/models',
  '/channels',
  '/playground',
  '/people',
  '/settings',
  '/api',
]

/** Asked for once by every page, whichever it is. */
const SHELL = ['/api/session', '/api/events']

describeInBrowser('the weight of the console', () => {
  let stage: Stage
  beforeAll(async () => {
    stage = await startUsedDuet({ days: 1, requestsADay: 5 })
  })
  afterAll(() => stage.duet.stop())

  const open = async (path: string) => {
    const page = await openConsole(stage.duet, { path, as: stage.operator })
    await settled(page)
    return urlsOf(page).map(url => new URL(url))
  }

  for (const path of PAGES) {
    test(`/console${path} needs less than 60 KB of script, and asks the server once`, async () => {
      const asked = await open(path)
      const scripts = new Set(asked.filter(url => url.pathname.endsWith('.js')).map(({ href }) => href))
      const sizes = await Promise.all([...scripts].map(compressedSize))
      const bytes = sizes.reduce((sum, size) => sum + size, 0)
      expect(bytes).toBeGreaterThan(10_000)
      expect(bytes).toBeLessThan(SCRIPT_BYTES_MAX)
      const questions = asked.filter(({ pathname }) => pathname.startsWith('/api/') && !SHELL.includes(pathname))
      expect(questions.map(({ pathname }) => pathname)).toHaveLength(1)
    })
  }
})

async function compressedSize(url: string): Promise<number> {
  const answer = await fetch(url, { headers: { 'accept-encoding': 'gzip' }, decompress: false })
  expect(answer.headers.get('content-encoding')).toBe('gzip')
  return (await answer.arrayBuffer()).byteLength
}
