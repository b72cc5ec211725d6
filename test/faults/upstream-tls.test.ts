import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { run, toward } from '../operator/cli/run.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'
import { CHAT, framesOf, post } from '../support/http.ts'
import { VENDOR_KEY, VENDOR_MODEL } from '../support/upstream.ts'
import { vendorAnswer, vendorBody } from '../support/vendor.ts'
import { ask, expectError, PATHS, PROTOCOLS, type ProtocolName, read, streamedText } from '../support/wire.ts'

/** Nothing goes to an upstream that has not proved who it is. */

const FIXTURES = join(import.meta.dir, '../fixtures/tls')
const AUTHORITY = join(FIXTURES, 'authority.pem')
const proofOf = (name: string) => ({
  cert: readFileSync(join(FIXTURES, `${name}.pem`)),
  key: readFileSync(join(FIXTURES, `${name}.key`)),
})

// ── an upstream that is trusted ─────────────────────────────────────────────────────────────────────────────────────

/** The ports that its callers came from: one for each connection. */
const callers = new Set<number | undefined>()
let asked = 0

const trusted = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  tls: proofOf('localhost'),
  async fetch(request, server) {
    asked++
    callers.add(server.requestIP(request)?.port)
    return vendorAnswer({ path: new URL(request.url).pathname, body: await request.json() })
  },
})

// ── upstreams that are not ──────────────────────────────────────────────────────────────────────────────────────────

interface Impostor {
  readonly host: 'localhost' | '127.0.0.1'
  readonly certificate: string
  /** What the operator is told. */
  readonly reason: RegExp
}

const IMPOSTORS: Readonly<Record<string, Impostor>> = {
  'other-name': {
    host: 'localhost',
    certificate: 'elsewhere',
    reason: /ERR_TLS_CERT_ALTNAME_INVALID.*elsewhere\.example/,
  },
  'other-address': {
    host: '127.0.0.1',
    certificate: 'elsewhere',
    reason: /ERR_TLS_CERT_ALTNAME_INVALID.*127\.0\.0\.1/,
  },
  untrusted: {
    host: 'localhost',
    certificate: 'stranger',
    reason: /DEPTH_ZERO_SELF_SIGNED_CERT: self.signed certificate/,
  },
  expired: { host: 'localhost', certificate: 'expired', reason: /CERT_HAS_EXPIRED: certificate has expired/ },
}

/** Would answer as it should, if it were asked. */
const CHAT_ANSWER = JSON.stringify(vendorBody('chat'))
const AS_IT_SHOULD = `HTTP/1.1 200 OK\r\ncontent-length: ${CHAT_ANSWER.length}\r\n\r\n${CHAT_ANSWER}`

interface Listening {
  readonly port: number
  heard: string
  visits: number
  stop(): void
}

function listen(tls: ReturnType<typeof proofOf> | undefined, answer: string): Listening {
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    ...(tls ? { tls } : {}),
    socket: {
      open() {
        listening.visits++
      },
      data(socket, bytes) {
        listening.heard += bytes.toString('latin1')
        socket.write(answer)
      },
      error() {},
    },
  })
  const listening = { port: listener.port, heard: '', visits: 0, stop: () => listener.stop(true) }
  return listening
}

const impostors = new Map(
  Object.entries(IMPOSTORS).map(([name, { certificate }]) => [name, listen(proofOf(certificate), AS_IT_SHOULD)]),
)
/** Knows nothing of TLS. */
const plain = listen(undefined, AS_IT_SHOULD)
/** Hangs up on whoever says hello. */
const rude = Bun.listen({
  hostname: '127.0.0.1',
  port: 0,
  socket: { data: socket => void socket.terminate(), error() {} },
})

// ── the gateway between them ────────────────────────────────────────────────────────────────────────────────────────

const channelLine = (name: string, protocol: ProtocolName, origin: string): string =>
  `  - { name: ${name}, protocol: ${protocol}, base_url: "${origin}/v1", api_key: ${VENDOR_KEY}, ` +
  `models: { acme/${name}: ${VENDOR_MODEL} }, breaker: false }`

const UPSTREAMS: readonly (readonly [name: string, protocol: ProtocolName, origin: string])[] = [
  ['chat', 'chat', `https://localhost:${trusted.port}`],
  ['messages', 'messages', `https://localhost:${trusted.port}`],
  ['by-address', 'chat', `https://127.0.0.1:${trusted.port}`],
  ['plain', 'chat', `https://127.0.0.1:${plain.port}`],
  ['rude', 'chat', `https://127.0.0.1:${rude.port}`],
  ...Object.entries(IMPOSTORS).map(
    ([name, { host }]) => [name, 'chat', `https://${host}:${impostors.get(name)?.port}`] as const,
  ),
]

const CONFIG = `
models:
${UPSTREAMS.map(([name]) => `  - { id: acme/${name}, price: { input: 1, output: 4 } }`).join('\n')}
channels:
${UPSTREAMS.map(parts => channelLine(...parts)).join('\n')}
`

let duet: Duet

beforeAll(async () => {
  duet = await startDuet({ config: CONFIG, env: { NODE_EXTRA_CA_CERTS: AUTHORITY } })
})

afterAll(async () => {
  await duet?.stop()
  await trusted.stop(true)
  rude.stop(true)
  plain.stop()
  for (const impostor of impostors.values()) impostor.stop()
})

const askFor = (name: string, stream = false): JsonBody => ask('chat', `acme/${name}`, 'Good morning?', { stream })

describe('an upstream that proves who it is', () => {
  for (const protocol of PROTOCOLS) {
    test(`answers ${protocol} whole and as a stream`, async () => {
      const request = ask(protocol, `acme/${protocol}`, 'Good morning?')
      const whole = await post(duet, PATHS[protocol], request)
      expect(whole.status).toBe(200)
      expect(read(protocol, whole.body)).toMatchObject({ text: 'Good morning', input: 7, output: 5 })
      const streamed = await post(duet, PATHS[protocol], { ...request, stream: true })
      expect(streamed.status).toBe(200)
      expect(streamedText(protocol, framesOf(streamed.text))).toBe('Good morning')
    })
  }

  test('may be known by its address', async () => {
    expect((await post(duet, CHAT, askFor('by-address'))).status).toBe(200)
  })

  test('keeps its connection for whole answers and for streams', async () => {
    await post(duet, CHAT, askFor('chat'))
    const [askedBefore, callersBefore] = [asked, callers.size]
    for (const stream of [false, true, true, false]) {
      expect((await post(duet, CHAT, askFor('chat', stream))).status).toBe(200)
    }
    expect([asked - askedBefore, callers.size - callersBefore]).toEqual([4, 0])
  })
})

describe('an upstream that cannot prove who it is', () => {
  for (const [name, { reason }] of Object.entries(IMPOSTORS)) {
    test(`is told nothing, and its operator why: ${name}`, async () => {
      for (const stream of [false, true]) {
        expectError(await post(duet, CHAT, askFor(name, stream)), {
          status: 502,
          code: 'upstream_error',
          message: 'The connection to the upstream failed',
        })
      }
      const { body } = await duet.admin('POST', `/api/channels/${name}/test`, {})
      expect(body.ok).toBe(false)
      for (const { error } of body.attempts) expect(error.message).toMatch(reason)
      expect(impostors.get(name)?.heard).toBe('')
      // Whoever believes everything is heard there: that nothing was is not for want of an ear.
      const url = `https://127.0.0.1:${impostors.get(name)?.port}/`
      const trusting = await fetch(url, { method: 'POST', body: 'credulous', tls: { rejectUnauthorized: false } })
      expect([trusting.status, impostors.get(name)?.heard]).toEqual([200, expect.stringContaining('credulous')])
    })
  }

  test('is told nothing if it does not know of TLS at all', async () => {
    expectError(await post(duet, CHAT, askFor('plain')), { status: 502, code: 'upstream_error' })
    const { body } = await duet.admin('POST', '/api/channels/plain/test', {})
    for (const { error } of body.attempts) expect(error.message).toMatch(/EPROTO: .*does not speak TLS on this port/)
    expect(plain.visits).toBe(3)
    // It has heard hello, in the clear, and nothing after that.
    expect(plain.heard).not.toMatch(new RegExp(`${VENDOR_KEY}|authorization|POST|${VENDOR_MODEL}`, 'i'))
  })

  test('is named as one that hangs up where it does', async () => {
    expectError(await post(duet, CHAT, askFor('rude')), { status: 502, code: 'upstream_error' })
    const { body } = await duet.admin('POST', '/api/channels/rude/test', {})
    for (const { error } of body.attempts)
      expect(error.message).toMatch(/ECONNRESET: The upstream ended the connection/)
  })
})

test('duet channels test says what is wrong with each certificate', async () => {
  const { code, out } = await run(['channels', 'test'], { env: toward(duet) })
  expect(code).toBe(3)
  for (const [name, { reason }] of Object.entries(IMPOSTORS)) {
    const [, after = ''] = out.split(`✗ ${name} (acme/${name})\n`)
    expect(after.split('\n')[0]).toMatch(reason)
  }
  expect(out).not.toContain(VENDOR_KEY)
})
