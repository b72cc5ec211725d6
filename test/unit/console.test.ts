import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { href, pathOf, pathTo, placeOf, searchOf } from '../../console/app/address.ts'
import {
  add,
  compare,
  hasUnclearComma,
  isNegative,
  isZero,
  ratio,
  readAmount,
  subtract,
} from '../../console/app/decimal.ts'

const CONSOLE = join(import.meta.dir, '../../console')

// ── addresses ───────────────────────────────────────────────────────────────────────────────────────────────────────

test('a path names a page and the parts after it, decoded', () => {
  expect(placeOf(pathOf('/console'))).toEqual({ page: '', rest: [] })
  expect(placeOf(pathOf('/console/'))).toEqual({ page: '', rest: [] })
  expect(placeOf(pathOf('/console/keys/new//'))).toEqual({ page: 'keys', rest: ['new'] })
  expect(placeOf(pathOf('/console/models/acme%2Fswift-2'))).toEqual({ page: 'models', rest: ['acme/swift-2'] })
})

test('an id with slashes, spaces and percent signs comes back as it went', () => {
  for (const id of ['acme/swift-2', 'a b', '100%', '?x=1#y', 'ключ']) {
    expect(placeOf(pathOf(href(pathTo('models', id))))).toEqual({ page: 'models', rest: [id] })
  }
})

test('a part that is no valid escape means itself', () => {
  expect(placeOf('/keys/100%')).toEqual({ page: 'keys', rest: ['100%'] })
})

test('filters that are not set are not in the address', () => {
  expect(searchOf({ status: 'ok', model: '', key: null, from: undefined, live: false, page: 0 })).toBe(
    '?status=ok&page=0',
  )
  expect(href('/', {})).toBe('/console')
  expect(href('/billing', { topup: true })).toBe('/console/billing?topup=true')
})

// ── money ───────────────────────────────────────────────────────────────────────────────────────────────────────────

test('sums of amounts are exact where floats are not', () => {
  expect(add('0.1', '0.2')).toBe('0.3')
  expect(add('9007199254740993', '0.000000001')).toBe('9007199254740993.000000001')
  expect(subtract('1', '0.000000001')).toBe('0.999999999')
  expect(subtract('0.1', '0.3')).toBe('-0.2')
  expect(add('-0.5', '0.5')).toBe('0')
})

test('amounts are compared by value, not by how they are written', () => {
  expect(compare('1.50', '1.5')).toBe(0)
  expect(compare('-0.000000001', '0')).toBe(-1)
  expect(compare('10', '9.999999999')).toBe(1)
  expect([isZero('0.00'), isZero('-0.01'), isNegative('-0.01'), isNegative('0')]).toEqual([true, false, true, false])
})

test('a share of nothing is nothing', () => {
  expect(ratio('1', '4')).toBe(0.25)
  expect(ratio('5', '0')).toBe(0)
})

test('typed amounts are read exactly or not at all', () => {
  const typed = {
    ' 12.50 ': '12.50',
    $5: '5',
    '1,000.25': '1000.25',
    '12,345,678': '12345678',
    '123,456,789,012.000000001': '123456789012.000000001',
    '.5': '0.5',
    '7.': '7',
    '0.000000001': '0.000000001',
  }
  for (const [text, amount] of Object.entries(typed)) expect(readAmount(text)).toBe(amount)
  for (const text of ['', '.', '-1', '1e3', 'five', '1.2.3', '0.0000000001', '9'.repeat(13)]) {
    expect(readAmount(text)).toBeUndefined()
  }
})

test('a comma that may stand for decimals is no amount, and is found to be the reason', () => {
  const unclear = [
    '1,5',
    '0,25',
    '1,50',
    '1,234',
    '$1,234',
    '12,34.5',
    '1,2345.6',
    '0,123.4',
    '1.234,50',
    '1,234.',
    '1，5',
  ]
  for (const text of unclear) {
    expect([text, readAmount(text)]).toEqual([text, undefined])
    expect(hasUnclearComma(text)).toBe(true)
  }
  for (const text of ['1.5', '1,234.50', 'five', '']) expect(hasUnclearComma(text)).toBe(false)
})

test('short money keeps at least two decimals and four that matter', async () => {
  // By its path: it is written for browsers, whose types tests do not have.
  const format: Record<'money' | 'exactMoney', (amount: string) => string> = await import(
    join(CONSOLE, 'app/format.ts')
  )
  const short = {
    '12.5': '$12.50',
    '0': '$0.00',
    '1234.5': '$1,234.50',
    '9.99884321': '$9.9988',
    '0.000012345': '$0.00001235',
    '-0.000012345': '-$0.00001235',
    '9007199254740993.25': '$9,007,199,254,740,993.25',
  }
  for (const [amount, text] of Object.entries(short)) expect(format.money(amount)).toBe(text)
  expect(format.exactMoney('0.000012345')).toBe('$0.000012345')
})

test('amounts that stand together have the same decimals, enough for the smallest', async () => {
  const { decimalsFor }: { decimalsFor(amounts: readonly string[]): number } = await import(
    join(CONSOLE, 'app/format.ts')
  )
  expect(decimalsFor([])).toBe(2)
  expect(decimalsFor(['20.9945', '1.5', '0.00'])).toBe(2)
  expect(decimalsFor(['20.9945', '0.06659'])).toBe(4)
  expect(decimalsFor(['50.00', '0.000027'])).toBe(6)
  expect(decimalsFor(['50.00', '-0.0000027'])).toBe(9)
})

test('a distance in time is told to the nearest unit', async () => {
  const { relative }: { relative(iso: string): string } = await import(join(CONSOLE, 'app/format.ts'))
  const [second, hour, day] = [1_000, 3_600_000, 86_400_000]
  const told = (ms: number) => relative(new Date(Date.now() + ms).toISOString())
  expect(told(7 * day - second)).toBe('in 7 days')
  expect(told(30 * day - second)).toBe('in 30 days')
  expect(told(-1.75 * hour)).toBe('2 hours ago')
  expect(told(-10 * second)).toBe('now')
})

// ── texts and tokens ────────────────────────────────────────────────────────────────────────────────────────────────

test('a page uses only words that are loaded with it', async () => {
  const routes = await Bun.file(join(CONSOLE, 'app/routes.ts')).text()
  const shell = await Bun.file(join(CONSOLE, 'texts/en/shell.ts')).text()
  const shared = [...shell.matchAll(/^export const (\w+)/gm)].map(([, name]) => name)
  const declared = new Map(
    [...routes.matchAll(/pages\/([\w-]+)\/page\.tsx'\),\s+texts: \[([^\]]*)\]/g)].map(([, page = '', names = '']) => [
      page,
      [...names.matchAll(/'(\w+)'/g)].map(([, name]) => name),
    ]),
  )
  expect(declared.size).toBeGreaterThan(10)
  const missing: string[] = []
  for await (const file of new Bun.Glob('pages/*/**/*.{ts,tsx}').scan(CONSOLE)) {
    const page = file.split('/')[1] ?? ''
    const code = await Bun.file(join(CONSOLE, file)).text()
    for (const [, name] of code.matchAll(/\bt\(\)\.(\w+)/g)) {
      if (!shared.includes(name) && !declared.get(page)?.includes(name)) missing.push(`${file}: ${name}`)
    }
  }
  expect(missing).toEqual([])
})

test('every colour of the light theme has its dark one', async () => {
  const css = await Bun.file(join(CONSOLE, 'style/tokens.css')).text()
  const [light = '', dark = ''] = css.split(':root[data-theme="dark"]')
  const coloursIn = (block: string) => [...block.matchAll(/^\s*(--[\w-]+):.*(?:#|rgb)/gm)].map(([, name]) => name)
  expect(coloursIn(light).length).toBeGreaterThan(20)
  expect(coloursIn(dark)).toEqual(coloursIn(light))
})

test('colours are named in one file', async () => {
  const found: string[] = []
  for await (const file of new Bun.Glob('style/**/*.css').scan(CONSOLE)) {
    if (file.endsWith('tokens.css')) continue
    const css = await Bun.file(join(CONSOLE, file)).text()
    for (const [colour] of css.matchAll(/#[\da-f]{3,8}\b|\b(?:rgb|hsl|oklch)a?\(/gi)) found.push(`${file}: ${colour}`)
  }
  expect(found).toEqual([])
})
