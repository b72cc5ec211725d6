import { afterAll, afterEach, beforeAll, describe, setDefaultTimeout } from 'bun:test'
import { existsSync } from 'node:fs'
import type { Browser, BrowserContext, Page, Response } from 'playwright-core'
import { chromium, closeChromium } from './chromium.ts'
import type { Duet } from './duet.ts'
import type { Person } from './people.ts'
import { noteSkipped } from './skipped.ts'

/** What a test may wish for; the rest is as most people have it. */
export interface ConsoleOptions {
  /** Below `/console`, with its query. */
  readonly path?: string
  /** Who is signed in; nobody unless it is said. */
  readonly as?: Person
  readonly width?: number
  readonly height?: number
  readonly theme?: 'light' | 'dark'
  readonly language?: 'en-US' | 'zh-CN'
  /** For tools that put scripts into the page, which the page itself forbids. */
  readonly isOpenToScripts?: boolean
  /** The server is stopped while the page is open: that requests fail then is no fault of the page. */
  readonly isCutOff?: boolean
  /** The same window for all tests of a kind that only look: to open one takes longer than to load a page into it. */
  readonly isKept?: boolean
}

/** Nothing here takes seconds; whoever waits for this long waits for something that does not come. */
const WAIT_MS_MAX = 10_000
/** A test waits for many things, each within its own limit: that one tells what did not come. */
const TEST_MS_MAX = 60_000

const EXECUTABLE = findBrowser()
const SKIPPED = 'browser tests skipped: no Chromium found (install it with: apt-get install chromium, or set CHROMIUM)'

/** Tests that need a real browser. On a machine without one they are skipped, and said to be. */
export function describeInBrowser(name: string, body: () => void): void {
  if (EXECUTABLE === undefined) {
    noteSkipped(SKIPPED)
    describe.skipIf(true)(name, body)
    return
  }
  setDefaultTimeout(TEST_MS_MAX)
  describe(name, () => {
    beforeAll(async () => {
      browser = await launch()
    })
    afterEach(closePages)
    afterAll(closeContexts)
    body()
  })
}

/** The same for a script. */
export async function withBrowser(work: () => Promise<void>): Promise<void> {
  browser = await launch()
  try {
    await work()
    await closePages()
  } finally {
    await closeContexts()
    await closeChromium()
  }
}

/** A window with nothing in it that an earlier test left. Whatever goes wrong in it fails the test. */
export async function openConsole(duet: Duet, options: ConsoleOptions = {}): Promise<Page> {
  const context = await contextFor(duet, options)
  const page = kept.get(context) ?? (await context.newPage())
  if (options.isKept) kept.set(context, page)
  await page.goto(`${duet.url}/console${options.path ?? ''}`)
  return page
}

/** What takes the place of data until it comes. */
const PENDING = '.skeleton, [aria-busy=true]'

/** Waits until a page has what it shows: a title, and data in place of every skeleton. */
export async function settled(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor()
  // Not a function to be waited for: that would be evaluated in the page, whose policy forbids it.
  await page.locator(PENDING).first().waitFor({ state: 'detached' })
}

/** Every address that a page has asked for. */
export const urlsOf = (page: Page): readonly string[] => urls.get(page) ?? []

// ── the browser ─────────────────────────────────────────────────────────────────────────────────────────────────────

let browser: Browser | undefined
/** By what makes them different. Those of somebody who is signed in are used again: they have the console's files. */
const contexts = new Map<string, BrowserContext>()
let strangers = 0
const kept = new WeakMap<BrowserContext, Page>()

function findBrowser(): string | undefined {
  const given = process.env.CHROMIUM
  if (given && !existsSync(given)) throw new Error(`CHROMIUM: there is no ${given}`)
  if (given) return given
  const names = ['chromium', 'chromium-browser', 'google-chrome']
  return names.map(name => Bun.which(name)).find(path => path !== null) ?? undefined
}

function launch(): Promise<Browser> {
  if (EXECUTABLE === undefined) throw new Error(SKIPPED)
  return chromium(EXECUTABLE)
}

async function contextFor(duet: Duet, options: ConsoleOptions): Promise<BrowserContext> {
  const { path: _, as, ...rest } = options
  // Whoever is not signed in may be, later: nobody else should have that.
  const name = JSON.stringify(as ? [duet.url, as.cookie, rest] : ++strangers)
  const known = contexts.get(name)
  if (known) return known
  const context = await newContext(duet, options)
  contexts.set(name, context)
  context.on('close', () => contexts.delete(name))
  return context
}

async function newContext(duet: Duet, options: ConsoleOptions): Promise<BrowserContext> {
  const { as, width = 1440, height = 900, theme = 'light', language = 'en-US' } = options
  const { isOpenToScripts = false, isCutOff = false } = options
  if (!browser) throw new Error('there is no browser outside of describeInBrowser')
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    locale: language,
    timezoneId: 'UTC',
    bypassCSP: isOpenToScripts,
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(WAIT_MS_MAX)
  context.on('page', page => watch(page, isCutOff))
  if (as) await context.addCookies([cookieOf(as, duet)])
  return context
}

const cookieOf = ({ cookie }: Person, { url }: Duet) => {
  const [name = '', value = ''] = cookie.split('=')
  return { name, value, domain: new URL(url).hostname, path: '/api', httpOnly: true, sameSite: 'Strict' as const }
}

// ── what must not happen ────────────────────────────────────────────────────────────────────────────────────────────

const faults: string[] = []
const urls = new WeakMap<Page, string[]>()

function watch(page: Page, isCutOff: boolean): void {
  const asked: string[] = []
  urls.set(page, asked)
  page.on('pageerror', error => faults.push(`an error nobody caught: ${error.stack ?? error.message}`))
  page.on('console', message => {
    // A refusal of the server is told by its response, below. Breaches of the content policy are told here.
    if (message.type() !== 'error' || /^Failed to load resource: the server responded/.test(message.text())) return
    if (!isCutOff || !/net::ERR_/.test(message.text()))
      faults.push(`an error in the browser's console: ${message.text()}`)
  })
  page.on('request', request => {
    asked.push(request.url())
    if (!isLocal(request.url())) faults.push(`a request that leaves the machine: ${request.url()}`)
  })
  page.on('response', response => {
    if (isFault(response)) faults.push(`${response.status()} for ${response.url()}`)
  })
}

const isLocal = (url: string): boolean =>
  !/^(https?|wss?):/.test(url) || /^\w+:\/\/(127\.0\.0\.1|localhost|\[::1\])[:/]/.test(url)

/** Refusals are for people to read; the console's own files are always there, and its server does not break. */
function isFault(response: Response): boolean {
  const { pathname } = new URL(response.url())
  const isForConsole = pathname.startsWith('/console') || pathname.startsWith('/favicon')
  return response.status() >= (isForConsole ? 400 : pathname.startsWith('/api') ? 500 : 600)
}

async function closePages(): Promise<void> {
  const isOver = (page: Page) => kept.get(page.context()) !== page
  await Promise.all([...contexts.values()].flatMap(context => context.pages().filter(isOver).map(closePage)))
  const found = faults.splice(0)
  if (found.length > 0) throw new Error(found.join('\n'))
}

/** The next page of the same person begins with the choices of nobody. */
async function closePage(page: Page): Promise<void> {
  await page.evaluate('localStorage.clear()').catch(() => undefined)
  await page.close()
}

async function closeContexts(): Promise<void> {
  await Promise.all([...contexts.values()].map(context => context.close()))
}
