import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { type Answer, CHAT, framesOf, post } from '../support/http.ts'
import { VENDOR_KEY, VENDOR_MODEL } from '../support/upstream.ts'
import { vendorAnswer } from '../support/vendor.ts'
import { ask, expectError, read, streamedText } from '../support/wire.ts'
import { type CompanyProxy, startProxy } from './company-proxy.ts'
import { LAST_WORD, rawUpstream } from './raw-upstream.ts'

/** Where the environment names a proxy, calls go through it; all limits count as without one. */

const FIXTURES = join(import.meta.dir, '../fixtures/tls')
const proofOf = (name: string) => ({
  cert: readFileSync(join(FIXTURES, `${name}.pem`)),
  key: readFileSync(join(FIXTURES, `${name}.key`)),
})

/** What upstreams were asked, and with which credential. */
const visits: (string | null)[] = []

const serve = (tls?: ReturnType<typeof proofOf>) =>
  Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    ...(tls ? { tls } : {}),
    async fetch(request) {
      visits.push(request.headers.get('authorization'))
      const body: JsonBody = await request.json()
      if (body.messages[0].content === SLOWLY) await Bun.sleep(CONNECT_MS * 3)
      return vendorAnswer({ path: new URL(request.url).pathname, body })
    },
  })

const SLOWLY = 'Take your time.'
const CONNECT_MS = 500

const plain = serve()
const secure = serve(proofOf('localhost'))
const impostor = serve(proofOf('elsewhere'))
/** Hangs up on whoever asks. */
let hangUps = 0
const careless = rawUpstream(line => {
  hangUps++
  line.reset()
})

/** Names that only the proxy knows; it leads `localhost` elsewhere, and is not asked for `127.0.0.1`. */
const ORIGINS: Readonly<Record<string, string>> = {
  plain: 'http://plain.invalid',
  direct: `http://127.0.0.1:${plain.port}`,
  secure: 'https://localhost',
  impostor: 'https://impostor.invalid',
  'no-tunnel': 'https://silent.invalid',
  careless: 'http://careless.invalid',
}

const CONFIG = `
models:
${Object.keys(ORIGINS)
  .map(name => `  - { id: acme/${name}, price: { input: 1, output: 4 } }`)
  .join('\n')}
channels:
${Object.entries(ORIGINS)
  .map(
    ([name, origin]) =>
      `  - { name: ${name}, protocol: chat, base_url: "${origin}/v1", api_key: ${VENDOR_KEY}, breaker: false, ` +
      `models: { acme/${name}: ${VENDOR_MODEL} }, timeout: { connect: ${CONNECT_MS}ms, first_byte: 5s } }`,
  )
  .join('\n')}
`

let duet: Duet
let proxy: CompanyProxy

beforeAll(async () => {
  proxy = startProxy({
    'plain.invalid': plain.port,
    localhost: secure.port,
    'impostor.invalid': impostor.port,
    'careless.invalid': careless.port,
  })
  duet = await startDuet({
    config: CONFIG,
    env: {
      HTTP_PROXY: proxy.url,
      HTTPS_PROXY: proxy.url,
      NO_PROXY: '127.0.0.1',
      NODE_EXTRA_CA_CERTS: join(FIXTURES, 'authority.pem'),
    },
  })
})

afterAll(async () => {
  await duet?.stop()
  proxy?.stop()
  careless.stop()
  for (const server of [plain, secure, impostor]) await server.stop(true)
})

beforeEach(() => {
  visits.length = 0
  proxy.asked.length = 0
})

const call = (name: string, { stream = false, content = 'Good morning?' } = {}): Promise<Answer> =>
  post(duet, CHAT, ask('chat', `acme/${name}`, content, { stream }))

async function expectAnswers(name: string): Promise<void> {
  const whole = await call(name)
  expect(whole.status).toBe(200)
  expect(read('chat', whole.body).text).toBe('Good morning')
  const streamed = await call(name, { stream: true })
  expect(streamed.status).toBe(200)
  expect(streamedText('chat', framesOf(streamed.text))).toBe('Good morning')
  expect(visits).toEqual([`Bearer ${VENDOR_KEY}`, `Bearer ${VENDOR_KEY}`])
}

describe('with a proxy', () => {
  test('plain calls go through it, to hosts that only it knows', async () => {
    await expectAnswers('plain')
    expect(new Set(proxy.asked)).toEqual(new Set(['plain.invalid']))
  })

  test('calls with TLS go through a tunnel, and the proxy hears nothing of them', async () => {
    const before = proxy.heard().length
    await expectAnswers('secure')
    expect(new Set(proxy.asked)).toEqual(new Set(['connect localhost:443']))
    expect(proxy.heard().slice(before)).not.toMatch(new RegExp(`${VENDOR_KEY}|${VENDOR_MODEL}`))
  })

  test('hosts that are not for it are called without it', async () => {
    await expectAnswers('direct')
    expect(proxy.asked).toEqual([])
  })

  test('an upstream at the end of a tunnel must prove who it is, too', async () => {
    expectError(await call('impostor'), { status: 502, code: 'upstream_error' })
    expect(new Set(proxy.asked)).toEqual(new Set(['connect impostor.invalid:443']))
    expect(visits).toEqual([])
  })

  test('a request that the upstream hung up on is sent once more', async () => {
    expectError(await call('careless', { content: JSON.parse(LAST_WORD) }), { status: 502, code: 'upstream_error' })
    expect(hangUps).toBe(2)
  })
})

describe('the limit for a connection', () => {
  const told = { status: 504, code: 'upstream_timeout' }

  test('counts until the tunnel is there', async () => {
    expectError(await call('no-tunnel'), { ...told, message: 'The upstream could not be reached in time' })
    expect(proxy.asked).toEqual(['connect silent.invalid:443'])
  })

  test('is over then: an answer may take longer', async () => {
    const answers = ['secure', 'plain', 'direct'].map(name => call(name, { content: SLOWLY }))
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200])
  })
})
