import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../support/duet.ts'

let duet: Duet
beforeAll(async () => {
  duet = await startDuet()
})
afterAll(() => duet.stop())

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(duet.url + path, { headers, redirect: 'manual', decompress: false })

const pageText = async () => (await fetch(`${duet.url}/console`)).text()

const namedIn = (html: string): string[] =>
  [...html.matchAll(/"(\/console\/assets\/[^"]+)"/g)].map(([, path = '']) => path)

describe('the page', () => {
  test('is the same for every address of the console, and the bare address of the server leads to it', async () => {
    const page = await pageText()
    for (const path of ['/console/keys', '/console/requests/abc', '/console/models/acme%2Fswift-2']) {
      expect(await (await fetch(duet.url + path)).text()).toBe(page)
    }
    const bare = await get('/', { accept: 'text/html' })
    expect([bare.status, bare.headers.get('location')]).toEqual([302, '/console'])
  })

  test('the bare address is no page for callers', async () => {
    expect((await get('/')).status).toBe(404)
  })

  test('runs nothing that stands in it, loads nothing from elsewhere, and is framed by nobody', async () => {
    const { headers } = await get('/console')
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain(`default-src 'none'`)
    expect(policy).toContain(`script-src 'self'`)
    expect(policy).toContain(`frame-ancestors 'none'`)
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    const page = await pageText()
    expect(page).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|(src|href)="https?:/)
  })

  test('is asked for again each time, and sent again only if it has changed', async () => {
    const first = await get('/console')
    expect(first.headers.get('cache-control')).toBe('no-cache')
    const again = await get('/console', { 'if-none-match': first.headers.get('etag') ?? '' })
    expect(again.status).toBe(304)
    expect(await again.text()).toBe('')
  })

  test('is only read', async () => {
    const answer = await fetch(`${duet.url}/console`, { method: 'POST', body: '{}' })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    const head = await fetch(`${duet.url}/console`, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
  })
})

describe('what the page loads', () => {
  test('has names that change with the content, and is kept for ever', async () => {
    const [path = ''] = namedIn(await pageText())
    expect(path).toMatch(/-[a-z0-9]{6,}\.(js|css)$/)
    const { headers } = await get(path)
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  })

  test('is compressed as the browser likes it, and the same in every form', async () => {
    const path = namedIn(await pageText()).find(name => name.endsWith('.css')) ?? ''
    const plain = await get(path)
    expect(plain.headers.get('content-encoding')).toBeNull()
    const text = await plain.text()
    for (const [accepted, encoding] of [
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
    ] as const) {
      const packed = await get(path, { 'accept-encoding': accepted })
      expect(packed.headers.get('content-encoding')).toBe(encoding)
      expect(packed.headers.get('vary')).toBe('accept-encoding')
      expect((await packed.arrayBuffer()).byteLength).toBeLessThan(text.length / 2)
      expect(await (await fetch(duet.url + path, { headers: { 'accept-encoding': accepted } })).text()).toBe(text)
    }
  })

  test('is not there under names that nothing has', async () => {
    expect((await get('/console/assets/main-00000000.js')).status).toBe(404)
    expect((await get('/console/assets/../../package.json')).status).toBe(404)
    expect((await get('/console/assets/%2e%2e%2f%2e%2e%2fpackage.json')).status).toBe(404)
  })
})
