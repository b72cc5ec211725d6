import { afterAll, describe, expect, test } from 'bun:test'
import { Abort } from '../../src/core/abort.ts'
import type { ChannelTimeouts } from '../../src/core/catalog.ts'
import { type Failure, GatewayError } from '../../src/core/failure.ts'
import { callUpstream, type UpstreamReply } from '../../src/upstream/client.ts'
import { eventually } from '../support/wire.ts'
import { type DeafPort, deafPort, rawUpstream } from './raw-upstream.ts'
import { type Manners, type Visit, type VisitedUpstream, visitedUpstream } from './visited-upstream.ts'

/** How connections to upstreams are opened, shared, kept and given up. */

const PATIENT: ChannelTimeouts = { connectMs: 20_000, firstByteMs: 20_000, idleMs: 20_000, totalMs: 20_000 }

interface Calling {
  readonly timeouts?: Partial<ChannelTimeouts>
  readonly abort?: Abort
  readonly body?: string
}

const begin = (url: string, { timeouts, abort = new Abort(), body = '{}' }: Calling = {}): Promise<UpstreamReply> =>
  callUpstream({ url, headers: {}, body, timeouts: { ...PATIENT, ...timeouts }, abort })

const call = async (url: string, calling?: Calling): Promise<string> => (await begin(url, calling)).text()

/** What became of a call that must not succeed. */
async function failed(calling: Promise<unknown>): Promise<{ readonly failure: Failure; readonly cause: unknown }> {
  const [result] = await Promise.allSettled([calling])
  if (result.status === 'fulfilled' || !(result.reason instanceof GatewayError)) throw new Error('it did not fail')
  return { failure: result.reason.failure, cause: result.reason.cause }
}

const stops: (() => unknown)[] = []
afterAll(async () => {
  for (const stop of stops) await stop()
})

function upstreamOf(manners: Manners = {}): VisitedUpstream {
  const upstream = visitedUpstream(manners)
  stops.push(upstream.stop)
  return upstream
}

async function expectOpen({ open }: Pick<VisitedUpstream, 'open'>, wanted: number): Promise<void> {
  expect(await eventually(open, count => count === wanted)).toBe(wanted)
}

const answerOf = (body: string, status = '200 OK'): string =>
  `HTTP/1.1 ${status}\r\ncontent-length: ${body.length}\r\n\r\n${body}`

const GONE = new GatewayError({ kind: 'client-gone' })

// ── kept ones ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** Bytes that may wait for a reader before the upstream is made to wait. */
const WAITING_BYTES_MAX = 256 * 1024

describe('a kept connection', () => {
  test.concurrent('is used again, the latest first', async () => {
    const upstream = upstreamOf()
    let done = 0
    const calls = [1, 2, 3].map(() => call(upstream.url).finally(() => done++))
    await upstream.visited(3)
    const [first, second, third] = upstream.visits as [Visit, Visit, Visit]
    for (const [place, visit] of [second, first, third].entries()) {
      visit.write(answerOf('yes'))
      await eventually(
        () => done,
        count => count > place,
      )
    }
    const again: Promise<string>[] = []
    for (const { connection } of [third, first, second]) {
      again.push(call(upstream.url))
      expect((await upstream.visited(3 + again.length)).connection).toBe(connection)
    }
    for (const visit of upstream.visits.slice(3)) visit.write(answerOf('yes'))
    expect(await Promise.all([...calls, ...again])).toEqual(Array(6).fill('yes'))
    expect([upstream.connections(), upstream.open()]).toEqual([3, 3])
  })

  test.concurrent('serves the next call even if nobody has read the last answer', async () => {
    // So long that its last byte is the one that makes an upstream wait.
    const long = 'x'.repeat(WAITING_BYTES_MAX)
    const upstream = upstreamOf({
      visit: visit => visit.write(answerOf(visit.path === '/long' ? long : 'short')),
    })
    const unread = await begin(`${upstream.url}long`)
    await eventually(upstream.taken, taken => taken === answerOf(long).length)
    await Bun.sleep(100)
    expect(await call(upstream.url)).toBe('short')
    expect(upstream.connections()).toBe(1)
    expect(await unread.text()).toBe(long)
  })
})

// ── many at once ────────────────────────────────────────────────────────────────────────────────────────────────────

const OPENING_MAX = 256

test('a thousand calls at once are all answered, each with its own answer, and their connections are kept', async () => {
  const upstream = upstreamOf({
    hears(bytes, visit) {
      const body = bytes.toString().split('\r\n\r\n')[1] ?? ''
      setTimeout(() => visit.write(answerOf(body)), 20)
    },
  })
  const texts = Array.from({ length: 1_000 }, (_, place) => `{"place":${place}}`)
  const all = (bodies: readonly string[]) => Promise.all(bodies.map(body => call(upstream.url, { body })))
  expect(await all(texts)).toEqual(texts)
  // Some may have been on their way to callers who were served by others meanwhile.
  await Bun.sleep(100)
  const opened = upstream.connections()
  expect(opened).toBeLessThanOrEqual(texts.length)
  expect(upstream.open()).toBe(opened)
  const fewer = texts.slice(0, opened)
  expect(await all(fewer)).toEqual(fewer)
  expect(upstream.connections()).toBe(opened)
})

test.concurrent('where nobody listens, all of many are told so', async () => {
  const gone = rawUpstream(() => {})
  gone.stop()
  const calls = Array.from({ length: 600 }, () => failed(call(gone.url)))
  for (const { failure, cause } of await Promise.all(calls)) {
    expect(failure).toEqual({ kind: 'upstream-error', problem: 'The connection to the upstream failed' })
    expect(cause).toMatchObject({ code: 'ECONNREFUSED' })
  }
})

describe('while connections are being opened', () => {
  /** One that is let in, and never shakes hands, is as good as one that is not. */
  const MUTE_CALLS = OPENING_MAX + 100

  test.concurrent('there are at most so many, and each who leaves takes only what the others can spare', async () => {
    const mute = rawUpstream(() => {})
    stops.push(mute.stop)
    const url = mute.url.replace('http:', 'https:')
    const aborts = Array.from({ length: MUTE_CALLS }, () => new Abort())
    const calls = aborts.map(abort => failed(call(url, { abort })))
    await expectOpen(mute, OPENING_MAX)
    for (const abort of aborts.slice(0, 100)) abort.abort(GONE)
    // Those who waited have them now.
    await Bun.sleep(50)
    expect([mute.open(), mute.connections()]).toEqual([OPENING_MAX, OPENING_MAX])
    for (const abort of aborts.slice(100, -3)) abort.abort(GONE)
    await expectOpen(mute, 3)
    for (const abort of aborts) abort.abort(GONE)
    await expectOpen(mute, 0)
    expect(mute.connections()).toBe(OPENING_MAX)
    for (const { failure } of await Promise.all(calls)) expect(failure).toEqual(GONE.failure)
  })
})

/** Says how often it was asked before. */
const COUNTING = `
let count = 0
const { port } = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response(String(count++)) })
console.log(port)
`

async function shutDoor(): Promise<DeafPort> {
  const door = await deafPort(COUNTING)
  stops.push(door.stop)
  return door
}

describe('an upstream that lets nobody in for a while', () => {
  test.concurrent('answers all who wait, also those who came when there were enough before the door', async () => {
    const door = await shutDoor()
    const calls = Array.from({ length: OPENING_MAX + 150 }, () => call(door.url))
    await Bun.sleep(200)
    door.wake()
    const counts = (await Promise.all(calls)).map(Number).sort((a, b) => a - b)
    expect(counts).toEqual(calls.map((_, place) => place))
  })

  test.concurrent('never hears of calls that were called off', async () => {
    const door = await shutDoor()
    const aborts = Array.from({ length: OPENING_MAX + 50 }, () => new Abort())
    const calls = aborts.map(abort => failed(call(door.url, { abort })))
    await Bun.sleep(200)
    for (const abort of aborts) abort.abort(GONE)
    for (const { failure } of await Promise.all(calls)) expect(failure).toEqual(GONE.failure)
    door.wake()
    expect(await call(door.url)).toBe('0')
  })

  test.concurrent('is knocked at anew by every call: what an earlier one has left behind may sleep for a minute', async () => {
    const door = await shutDoor()
    const before = await knocking(door)
    const { failure } = await failed(call(door.url, { timeouts: { connectMs: 200 } }))
    expect(failure).toMatchObject({ kind: 'upstream-timeout', phase: 'connect' })
    const next = call(door.url)
    expect(
      await eventually(
        () => knocking(door),
        count => count === before + 2,
      ),
    ).toBe(before + 2)
    door.wake()
    expect(await next).toBe('0')
  })
})

/** Connections to there that are asked for and not made, as the system tells. */
async function knocking({ url }: DeafPort): Promise<number> {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0')
  const SYN_SENT = '02'
  const lines = (await Bun.file('/proc/net/tcp').text()).split('\n').map(line => line.trim().split(/\s+/))
  return lines.filter(([, , remote, state]) => remote?.endsWith(`:${port}`) && state === SYN_SENT).length
}

// ── addresses ───────────────────────────────────────────────────────────────────────────────────────────────────────

test.concurrent('an address of IPv6 is called as it stands in a URL', async () => {
  const server = Bun.serve({ hostname: '::1', port: 0, fetch: ({ headers }) => new Response(headers.get('host')) })
  stops.push(() => server.stop(true))
  expect(await call(`http://[::1]:${server.port}/`)).toBe(`[::1]:${server.port}`)
})

test.concurrent('a name that leads nowhere is told from a door that is shut', async () => {
  const { failure, cause } = await failed(call('http://nobody.invalid/'))
  expect(failure).toEqual({ kind: 'upstream-error', problem: 'The connection to the upstream failed' })
  expect(cause).toMatchObject({ code: 'ENOTFOUND', message: expect.stringContaining('nobody.invalid') })
})

test.concurrent('where there is no way at all, a call fails at once, as often as it is tried', async () => {
  // The system refuses to open a connection to everybody before the first packet is sent.
  for (let turn = 0; turn < OPENING_MAX + 10; turn++) {
    const { failure } = await failed(call('http://255.255.255.255/'))
    expect(failure.kind).toBe('upstream-error')
  }
})

// ── those who are slow ──────────────────────────────────────────────────────────────────────────────────────────────

const MEGABYTE = 1024 * 1024

test('an upstream that sends more than is read is made to wait, and goes on when it is read', async () => {
  const length = 50 * MEGABYTE
  const upstream = upstreamOf({
    visit(visit) {
      visit.write(`HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n`)
      visit.write(Buffer.alloc(length, 'abcdefg'))
    },
  })
  const reply = await begin(upstream.url)
  let before = -1
  // Until nothing more is taken: what is on the way is in buffers of the system.
  while (before !== upstream.taken()) {
    before = upstream.taken()
    await Bun.sleep(200)
  }
  expect(before).toBeLessThan(length / 2)
  const expected = new Bun.CryptoHasher('sha1').update(Buffer.alloc(length, 'abcdefg')).digest('hex')
  const got = new Bun.CryptoHasher('sha1')
  for (let bytes = await reply.next(); bytes; bytes = await reply.next()) got.update(bytes)
  expect(got.digest('hex')).toBe(expected)
  await expectOpen(upstream, 1)
})

test('a long request arrives whole at an upstream that reads slowly', async () => {
  const body = 'long 世 '.repeat(MEGABYTE)
  const sent = Buffer.from(body)
  const heard: Buffer[] = []
  let left = sent.byteLength
  const upstream = upstreamOf({
    readsOnAfterMs: 2,
    hears(bytes, visit) {
      const payload = heard.length === 0 ? bytes.subarray(bytes.indexOf('\r\n\r\n') + 4) : bytes
      heard.push(payload)
      left -= payload.byteLength
      if (left === 0) visit.write(answerOf('heard'))
    },
  })
  expect(await call(upstream.url, { body })).toBe('heard')
  expect(Buffer.concat(heard).equals(sent)).toBe(true)
  await expectOpen(upstream, 1)
})

test('an upstream that refuses a request before it has heard it is understood, and not asked there again', async () => {
  const upstream = upstreamOf({
    readsOnAfterMs: false,
    visit: visit =>
      visit.write(visit.connection === 1 ? answerOf('{"error":"too long"}', '413 Too much') : answerOf('yes')),
  })
  const { failure } = await failed(call(upstream.url, { body: 'x'.repeat(20 * MEGABYTE) }))
  expect(failure).toEqual({ kind: 'upstream-invalid-request', message: 'too long' })
  await expectOpen(upstream, 0)
  expect(await call(upstream.url)).toBe('yes')
  expect(upstream.connections()).toBe(2)
})
