import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Result } from 'axe-core'
import type { Page } from 'playwright-core'
import { type ConsoleOptions, describeInBrowser, openConsole, settled } from '../support/browser.ts'
import { firstLink, tokenOf } from '../support/people.ts'
import { type Stage, startUsedDuet } from './stage.ts'

interface Place {
  /** What a person would call it. */
  readonly name: string
  readonly path: (stage: Stage) => string
  /** Done by keyboard once the page is there. */
  readonly press?: string
  readonly isSignedOut?: boolean
}

const PLACES: readonly Place[] = [
  { name: 'the overview', path: () => '' },
  { name: 'the keys', path: () => '/keys' },
  { name: 'a new key', path: () => '/keys/new' },
  { name: 'a key', path: ({ keyId }) => `/keys/${keyId}` },
  { name: 'raising a cap', path: ({ keyId }) => `/keys/${keyId}?raise=true` },
  { name: 'billing', path: () => '/billing' },
  { name: 'a top-up', path: () => '/billing?topup=true' },
  { name: 'redeeming a code', path: () => '/billing?redeem=true' },
  { name: 'the requests', path: () => '/requests' },
  { name: 'a request', path: ({ requestId }) => `/requests/${requestId}` },
  { name: 'a refused request', path: ({ refusedId }) => `/requests/${refusedId}` },
  { name: 'requests that nobody made', path: () => '/requests?model=nobody/asked-for-it' },
  { name: 'the models', path: () => '/models' },
  { name: 'a model', path: () => `/models/${encodeURIComponent('openai/gpt-4.1')}` },
  { name: 'the channels', path: () => '/channels' },
  { name: 'a channel', path: () => '/channels/sandbox-chat' },
  { name: 'a new channel', path: () => '/channels/new' },
  { name: 'the playground', path: () => '/playground' },
  { name: 'the people', path: () => '/people' },
  { name: 'the settings', path: () => '/settings' },
  { name: 'the description of the API', path: () => '/api' },
  { name: 'a page that does not exist', path: () => '/nothing-here' },
  { name: 'the command palette', path: () => '/settings', press: 'Control+k' },
  { name: 'the help about keys', path: () => '/settings', press: '?' },
  { name: 'the sign-in', path: () => '/sign-in', isSignedOut: true },
  { name: 'a link that was used', path: ({ duet }) => `/welcome#${tokenOf(firstLink(duet))}`, isSignedOut: true },
]

const PHONE = { width: 390, height: 844 }

describeInBrowser('the console for everybody', () => {
  let stage: Stage
  let axe: string
  beforeAll(async () => {
    stage = await startUsedDuet({ days: 1, requestsADay: 6 })
    axe = await Bun.file(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir)).text()
  })
  afterAll(() => stage.duet.stop())

  for (const place of PLACES) {
    test(`${place.name} has no serious fault, in light colours and on a large screen`, async () => {
      const page = await open(place, { theme: 'light' })
      expect(await faultsOf(page)).toBe('')
    })

    test(`${place.name} has no serious fault, in dark colours and on a phone, and fits it`, async () => {
      const page = await open(place, { theme: 'dark', ...PHONE })
      expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)
      expect(await faultsOf(page)).toBe('')
    })
  }

  async function open({ path, press, isSignedOut = false }: Place, options: ConsoleOptions): Promise<Page> {
    const who = isSignedOut ? {} : { as: stage.operator }
    const given = { ...options, ...who, path: path(stage), isOpenToScripts: true, isKept: !isSignedOut }
    const page = await openConsole(stage.duet, given)
    await settled(page)
    if (press === undefined) return page
    await page.keyboard.press(press)
    await page.getByRole('dialog').waitFor()
    return page
  }

  async function faultsOf(page: Page): Promise<string> {
    await page.evaluate(axe)
    const violations = await page.evaluate<readonly Result[]>(RUN)
    return violations.filter(isSerious).map(describeViolation).join('\n')
  }
})

/** The levels that laws ask for. What is in order, which is most, is neither described nor handed over. */
const RUN = `axe.run(document, {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
  resultTypes: ['violations'],
  preload: false,
}).then(({ violations }) => violations)`

const isSerious = ({ impact }: Result): boolean => impact === 'serious' || impact === 'critical'

const describeViolation = ({ id, help, nodes }: Result): string =>
  [`${id}: ${help}`, ...nodes.map(({ target, html }) => `  ${target.join(' ')}\n    ${html}`)].join('\n')
