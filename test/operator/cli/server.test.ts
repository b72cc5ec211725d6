import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Api } from '../../../src/cli/api.ts'
import { ADMIN_TOKEN, type Duet, newFolder, startDuet } from '../../support/duet.ts'
import { freePort, run, runOnTerminal, toward } from './run.ts'

let server: Duet
beforeAll(async () => {
  server = await startDuet()
})
afterAll(() => server.stop())

const ACCOUNTS = ['accounts', 'list', '--quiet']

describe('where the server is', () => {
  const SPELLINGS: [what: string, change: (url: string) => string][] = [
    ['plain', url => url],
    ['with a slash', url => `${url}/`],
    ['with /v1', url => `${url}/v1`],
    ['with /v1/', url => `${url}/v1/`],
    ['with /api', url => `${url}/api`],
    ['without http://', url => url.slice('http://'.length)],
    ['with a query and a fragment', url => `${url}/?a=b#c`],
    ['with a user in it', url => url.replace('://', '://somebody:secret@')],
  ]
  for (const [what, change] of SPELLINGS) {
    test(`is what DUET_URL says, ${what}`, async () => {
      const env = { DUET_URL: change(server.url), DUET_ADMIN_TOKEN: ADMIN_TOKEN }
      expect(await run(ACCOUNTS, { env })).toEqual({ code: 0, out: 'default\n', err: '' })
    })
  }

  test('is where a start would put it otherwise: DUET_PORT and DUET_HOST', async () => {
    const { port } = new URL(server.url)
    for (const host of [{}, { DUET_HOST: '0.0.0.0' }, { DUET_HOST: '127.0.0.1' }]) {
      const env = { DUET_PORT: port, DUET_ADMIN_TOKEN: ADMIN_TOKEN, ...host }
      expect((await run(ACCOUNTS, { env })).out).toBe('default\n')
    }
  })

  for (const url of ['ftp://somewhere', 'http://', 'not an address']) {
    test(`cannot be "${url}"`, async () => {
      const { code, err } = await run(ACCOUNTS, { env: { DUET_URL: url } })
      expect(code).toBe(2)
      expect(err).toStartWith('duet: DUET_URL: must be an address such as http://127.0.0.1:7070\n')
    })
  }
})

describe('what opens it', () => {
  let generated: Duet
  beforeAll(async () => {
    generated = await startDuet({ env: { DUET_ADMIN_TOKEN: '' } })
  })
  afterAll(() => generated.stop())

  test('is the file of ./data, or of DUET_DATA', async () => {
    const env = { DUET_URL: generated.url }
    expect((await run(ACCOUNTS, { env, cwd: generated.folder })).out).toBe('default\n')
    const data = join(generated.folder, 'data')
    expect((await run(ACCOUNTS, { env: { ...env, DUET_DATA: data } })).out).toBe('default\n')
  })

  test('is looked for in two places, and both are named if there is none', async () => {
    const { code, out, err } = await run(ACCOUNTS, { env: { DUET_URL: generated.url } })
    expect([code, out]).toEqual([1, ''])
    expect(err).toBe(
      `duet: ${generated.url} refused the admin token: DUET_ADMIN_TOKEN is not set and data/admin-token cannot be read\n`,
    )
  })

  test('is not repeated if it is refused', async () => {
    const env = { DUET_URL: generated.url, DUET_ADMIN_TOKEN: 'a-wrong-token-0123456789' }
    const { code, err } = await run(ACCOUNTS, { env, cwd: generated.folder })
    expect(code).toBe(1)
    expect(err).toContain('it was taken from DUET_ADMIN_TOKEN')
    expect(err).not.toContain('a-wrong-token')
    const cwd = newFolder()
    mkdirSync(join(cwd, 'data'))
    writeFileSync(join(cwd, 'data/admin-token'), 'another-wrong-token-01234\n')
    const kept = await run(['accounts', 'list', '--json'], { env: { DUET_URL: generated.url }, cwd })
    expect(JSON.parse(kept.err)).toEqual({
      error: { code: 'unauthorized', message: expect.stringContaining('it was read from data/admin-token') },
    })
    expect(kept.err).not.toContain('another-wrong')
  })

  test('cannot hold what a header cannot carry', async () => {
    const { code, err } = await run(ACCOUNTS, { env: { DUET_URL: server.url, DUET_ADMIN_TOKEN: 'grün\nund blau' } })
    expect([code, err]).toEqual([1, 'duet: DUET_ADMIN_TOKEN: an admin token has printable characters without spaces\n'])
  })
})

describe('a server that is not there', () => {
  test('is one line with the address and what to do, and the code 1', async () => {
    const port = freePort()
    const advice = 'start one with "duet start", or set DUET_URL to where it runs'
    for (const command of [ACCOUNTS, ['usage'], ['models'], ['keys', 'create', '--name', 'x'], ['channels', 'test']]) {
      const { code, out, err } = await run(command, { env: { DUET_PORT: port } })
      expect([code, out]).toEqual([1, ''])
      expect(err).toBe(`duet: no Duet answers at http://127.0.0.1:${port} (ECONNREFUSED); ${advice}\n`)
    }
  })

  test('is JSON for scripts', async () => {
    const { code, out, err } = await run(['accounts', 'list', '--json'], { env: { DUET_PORT: freePort() } })
    expect([code, out]).toEqual([1, ''])
    expect(JSON.parse(err).error).toMatchObject({ code: 'unreachable', message: expect.stringContaining('duet start') })
  })

  test('may be something else', async () => {
    const answers: (() => Response)[] = [
      () => new Response('<html>hello</html>', { headers: { 'content-type': 'text/html' } }),
      () => Response.json({ hello: 'world' }),
      () => Response.json({ detail: 'not found' }, { status: 404 }),
    ]
    for (const fetch of answers) {
      const other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch })
      const { code, err } = await run(['accounts', 'list'], { env: { DUET_URL: other.url.origin } })
      expect(code).toBe(1)
      expect(err).toStartWith(`duet: what answers at ${other.url.origin} is not Duet`)
      await other.stop(true)
    }
  })

  test('may send us elsewhere, where the token does not go', async () => {
    const seen: (string | null)[] = []
    const elsewhere = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch(request) {
        seen.push(request.headers.get('authorization'))
        return Response.json({ data: [], next: null })
      },
    })
    const other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.redirect(elsewhere.url.href) })
    const { code } = await run(ACCOUNTS, { env: { ...toward(server), DUET_URL: other.url.origin } })
    expect([code, seen]).toEqual([1, []])
    await Promise.all([other.stop(true), elsewhere.stop(true)])
  })

  test('may hang up', async () => {
    const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: socket => void socket.terminate() } })
    const env = { DUET_URL: `http://127.0.0.1:${listener.port}` }
    const reading = await run(['accounts', 'list'], { env })
    expect([reading.code, reading.err]).toEqual([1, `duet: ${env.DUET_URL} hung up without an answer\n`])
    const writing = await run(['accounts', 'topup', 'default', '5'], { env })
    expect(writing.err).toEndWith('hung up without an answer; it may have done what it was asked for\n')
    listener.stop(true)
  })

  test('may fall silent, before or within an answer: that has a limit', async () => {
    const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    const halting = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: { data: socket => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"data":') },
    })
    for (const { port } of [silent, halting]) {
      const place = { base: `http://127.0.0.1:${port}`, isNamed: true, token: undefined, tokenPlaces: '' }
      const api = new Api(place, 100)
      const late = { code: 'timeout', exit: 1, message: `http://127.0.0.1:${port} did not answer in time` }
      await expect(api.get('/accounts')).rejects.toMatchObject(late)
      await expect(api.post('/accounts', {})).rejects.toMatchObject({ code: 'timeout' })
    }
    const place = { base: `http://127.0.0.1:${silent.port}`, isNamed: true, token: undefined, tokenPlaces: '' }
    const lines = new Api(place, 100).lines('/ledger/verify', 'application/x-ndjson')
    await expect(lines.next()).rejects.toMatchObject({ code: 'timeout' })
    for (const listener of [silent, halting]) listener.stop(true)
  })

  test('may end in the middle of a verification', async () => {
    const endings = ['', '{"checked":1,"total":2}\n', '{"checked":1,"tot']
    for (const ending of endings) {
      const other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response(ending) })
      const { code, out, err } = await run(['ledger', 'verify'], { env: { DUET_URL: other.url.origin } })
      expect([code, out]).toEqual([1, ''])
      expect(err).toMatch(/^duet: .*\n$/)
      await other.stop(true)
    }
  })
})

describe('colours', () => {
  test('are for terminals', async () => {
    const { code, seen } = await runOnTerminal(['accounts', 'list'], { env: toward(server) })
    expect(code).toBe(0)
    expect(seen).toContain('\u001b[2mID')
    const { out } = await run(['accounts', 'list'], { env: toward(server) })
    expect(out).not.toContain('\u001b')
  })

  for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
    test(`are not for ${JSON.stringify(env)}`, async () => {
      const { seen } = await runOnTerminal(['accounts', 'list'], { env: { ...toward(server), ...env } })
      expect(seen).toStartWith('ID ')
      expect(seen).not.toContain('\u001b')
    })
  }

  test('are not in JSON', async () => {
    const { seen } = await runOnTerminal(['accounts', 'list', '--json'], { env: toward(server) })
    expect(JSON.parse(seen).data).toHaveLength(1)
  })
})
