import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Duet, KEY, startDuet } from '../support/duet.ts'
import { CHAT, MESSAGES, post, user } from '../support/http.ts'
import { eventually } from '../support/wire.ts'
import { RawConnection } from './raw.ts'

/** Connections that are used in ways no client means. One server has to bear all of it at the same time. */

let duet: Duet

beforeAll(async () => {
  duet = await startDuet()
})
afterAll(async () => {
  expect(await stillServes()).toBe(200)
  expect((await duet.admin('GET', '/api/accounts/default')).body.held).toBe('0.00')
  expect(duet.output()).not.toContain('internal')
  expect(await duet.stop()).toBe(0)
})

const MODEL = 'openai/gpt-4.1'
const HOST = 'host: x\r\n'

const ask = (content: string, more: object = {}) => ({
  model: MODEL,
  max_tokens: 500,
  messages: user(content),
  ...more,
})

const stillServes = async () => (await post(duet, CHAT, ask('still there?'))).status

/** A turn as it goes over the wire. */
function turn(path: string, body: object, headers = ''): string {
  const text = JSON.stringify(body)
  const credential = `authorization: Bearer ${duet.key}\r\n`
  return `POST ${path} HTTP/1.1\r\n${HOST}${credential}${headers}content-length: ${text.length}\r\n\r\n${text}`
}

const statusesIn = (received: string): string[] =>
  [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, code = '']) => code)

test.concurrent('requests that come in one packet are answered in their order', async () => {
  const connection = await RawConnection.open(duet.url)
  const credential = `authorization: Bearer ${duet.key}\r\n`
  connection.send(
    `GET /v1/models/nobody/nothing HTTP/1.1\r\n${HOST}${credential}\r\n` +
      `POST ${CHAT} HTTP/1.1\r\n${HOST}content-length: 4\r\n\r\nbody` +
      `GET /v1/models HTTP/1.1\r\n${HOST}${credential}\r\n` +
      `GET /health/live HTTP/1.1\r\n${HOST}connection: close\r\n\r\n`,
  )
  const received = await connection.ended()
  expect(statusesIn(received)).toEqual(['404', '401', '200', '200'])
  const places = ['Invalid URL', 'Invalid token', '"has_more"', '{"status":"ok"}'].map(said => received.indexOf(said))
  expect(places).toEqual(places.toSorted((a, b) => a - b))
})

// The runtime cannot keep a request back until the one before it is answered: it closes the connection.
test.concurrent('one that comes before the last is answered ends both, and no answer goes astray', async () => {
  for (const [path, more] of [
    [CHAT, { stream: true }],
    [MESSAGES, {}],
  ] as const) {
    const connection = await RawConnection.open(duet.url)
    connection.send(turn(path, ask(`[[delay 10s]] ${path}`, more)) + turn(path, ask('second')))
    expect(await connection.ended()).toBe('')
  }
  const held = await eventually(
    async () => (await duet.admin('GET', '/api/usage?status=client_gone')).body.data.length,
    found => found >= 2,
  )
  expect(held).toBeGreaterThanOrEqual(2)
})

const SMUGGLED = `GET /health/live HTTP/1.1\r\n${HOST}\r\n`
const posted = (headers: string, body: string) =>
  `POST ${CHAT} HTTP/1.1\r\n${HOST}authorization: Bearer ${KEY}\r\n${headers}\r\n\r\n${body}`

/** What two servers in a row could read differently, or nobody can read at all. */
const MALFORMED: Readonly<Record<string, string>> = {
  'a length and chunks': posted('content-length: 4\r\ntransfer-encoding: chunked', `0\r\n\r\n${SMUGGLED}`),
  'chunks and a length': posted('transfer-encoding: chunked\r\ncontent-length: 4', `0\r\n\r\n${SMUGGLED}`),
  'two lengths': posted('content-length: 4\r\ncontent-length: 5', `abcde${SMUGGLED}`),
  'a list of lengths': posted('content-length: 5, 5', `abcde${SMUGGLED}`),
  'a length with a sign': posted('content-length: +5', `abcde${SMUGGLED}`),
  'a negative length': posted('content-length: -1', SMUGGLED),
  'a length without end': posted(`content-length: ${'9'.repeat(30)}`, SMUGGLED),
  'chunks of another name': posted('transfer-encoding: xchunked', `0\r\n\r\n${SMUGGLED}`),
  'chunks that are not the last coding': posted('transfer-encoding: chunked, identity', `0\r\n\r\n${SMUGGLED}`),
  'two codings': posted('transfer-encoding: chunked\r\ntransfer-encoding: identity', `0\r\n\r\n${SMUGGLED}`),
  'a space before a colon': posted('transfer-encoding : chunked', `0\r\n\r\n${SMUGGLED}`),
  'a chunk whose length is none': posted('transfer-encoding: chunked', `zz\r\nabc\r\n0\r\n\r\n${SMUGGLED}`),
  'a header in two lines': posted('x: a\r\n b', SMUGGLED),
  'a zero byte in a header': `GET /health/live HTTP/1.1\r\n${HOST}x: a\0b\r\n\r\n${SMUGGLED}`,
  'no host': `GET /health/live HTTP/1.1\r\n\r\n${SMUGGLED}`,
  'a method of no letters': `G@T /health/live HTTP/1.1\r\n${HOST}\r\n${SMUGGLED}`,
  'a version from the future': `GET /health/live HTTP/7.3\r\n${HOST}\r\n${SMUGGLED}`,
  'no version': `GET /health/live\r\n${HOST}\r\n${SMUGGLED}`,
  'the beginning of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'headers larger than 128 KB': `GET /health/live HTTP/1.1\r\n${HOST}x: ${'a'.repeat(140_000)}\r\n\r\n${SMUGGLED}`,
  'more headers than anybody sends': `GET /health/live HTTP/1.1\r\n${HOST}${'x: y\r\n'.repeat(5_000)}\r\n${SMUGGLED}`,
  'a request line without end': `GET /${'a'.repeat(2_000_000)}`,
}

for (const [name, bytes] of Object.entries(MALFORMED)) {
  test.concurrent(`${name}: refused, and nothing after it on this connection is a request`, async () => {
    const connection = await RawConnection.open(duet.url)
    connection.send(bytes)
    const received = await connection.ended()
    const [status, ...more] = statusesIn(received)
    expect(['400', '413', '414', '431', '505']).toContain(status as string)
    expect(more).toEqual([])
    expect(received).not.toContain('{"status":"ok"}')
  })
}

test.concurrent('clients that vanish without a word are billed, hold nothing, and hinder nobody', async () => {
  const before = Number((await duet.admin('GET', '/api/accounts/default')).body.spent)
  const gone = await Promise.all(Array.from({ length: 50 }, () => RawConnection.open(duet.url)))
  for (const [place, connection] of gone.entries()) {
    connection.stopReading()
    connection.send(turn(place % 2 ? CHAT : MESSAGES, ask('Is anybody there?', { stream: place % 3 > 0 })))
  }
  const rows = await eventually(
    async () => (await duet.admin('GET', '/api/usage?limit=500')).body.data,
    found => found.filter((row: { tokens: { output: number } }) => row.tokens.output > 0).length >= gone.length,
  )
  expect(rows.length).toBeGreaterThanOrEqual(gone.length)
  expect(await stillServes()).toBe(200)
  expect(Number((await duet.admin('GET', '/api/accounts/default')).body.spent)).toBeGreaterThan(before)
  for (const connection of gone) connection.close()
})

test.concurrent('whoever waits for leave to send a body gets it', async () => {
  const connection = await RawConnection.open(duet.url)
  const body = JSON.stringify(ask('hello'))
  const [head = ''] = turn(CHAT, ask('hello'), 'expect: 100-continue\r\n').split(body)
  connection.send(head)
  expect(await connection.until('\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  connection.send(body)
  expect(statusesIn(await connection.until('"chat.completion"'))).toEqual(['100', '200'])
  connection.close()
})

test.concurrent('a body that is too large is refused before it has come, and the connection goes on', async () => {
  const bytes = 33 * 1024 * 1024
  const connection = await RawConnection.open(duet.url)
  const credential = `authorization: Bearer ${duet.key}\r\n`
  connection.send(`POST ${CHAT} HTTP/1.1\r\n${HOST}${credential}content-length: ${bytes}\r\n\r\n${'x'.repeat(1000)}`)
  expect(statusesIn(await connection.until('request_too_large'))).toEqual(['413'])
  connection.send('x'.repeat(bytes - 1000) + SMUGGLED)
  expect(statusesIn(await connection.until('{"status":"ok"}'))).toEqual(['413', '200'])
  connection.close()
})
