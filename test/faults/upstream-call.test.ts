import { afterAll, describe, expect, test } from 'bun:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { Abort } from '../../src/core/abort.ts'
import type { ChannelTimeouts } from '../../src/core/catalog.ts'
import { GatewayError } from '../../src/core/failure.ts'
import { callUpstream } from '../../src/upstream/client.ts'
import { eventually } from '../support/wire.ts'
import { LAST_WORD, type Line, type RawUpstream, rawUpstream } from './raw-upstream.ts'

/** So long that none of them is what ends a call. */
const PATIENT: ChannelTimeouts = { connectMs: 20_000, firstByteMs: 20_000, idleMs: 20_000, totalMs: 20_000 }

const BODY = `{"messages":${LAST_WORD}}`
const ANSWER = '{"a":1}'

interface Calling {
  readonly timeouts?: Partial<ChannelTimeouts>
  readonly abort?: Abort
  readonly body?: string
}

/** The text of the answer, or the failure. */
async function call(url: string, { timeouts, abort = new Abort(), body = BODY }: Calling = {}) {
  try {
    const reply = await callUpstream({ url, headers: {}, body, timeouts: { ...PATIENT, ...timeouts }, abort })
    return await reply.text()
  } catch (error) {
    if (error instanceof GatewayError) return error.failure
    throw error
  }
}

const upstreams: RawUpstream[] = []
afterAll(() => {
  for (const upstream of upstreams) upstream.stop()
})

function upstreamThat(answer: (line: Line) => void): RawUpstream {
  const upstream = rawUpstream(answer)
  upstreams.push(upstream)
  return upstream
}

const head = (fields = '', status = '200 OK'): string => `HTTP/1.1 ${status}\r\n${fields}\r\n`
const sized = (body: string | Uint8Array, more = ''): string => head(`content-length: ${body.length}\r\n${more}`)
const CHUNKED = head('transfer-encoding: chunked\r\n')
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
const END = chunk('')

const FAILED = { kind: 'upstream-error' } as const
const TOO_LONG = { kind: 'upstream-error', problem: 'The upstream sent an answer that is too long' }
const late = (phase: string) => ({ kind: 'upstream-timeout', phase })

// ── answers that are none ───────────────────────────────────────────────────────────────────────────────────────────

interface Oddity {
  readonly name: string
  readonly says: (line: Line) => void
  readonly gets: string | object
  readonly timeouts?: Partial<ChannelTimeouts>
  /** Whether the connection is as good as new, and kept; maybe, where that depends on how much of it was read. */
  readonly isKept?: true | 'maybe'
}

const packed = gzipSync(ANSWER.repeat(100))
const zeros = gzipSync(Buffer.alloc(100 * 1024 * 1024))

const ODDITIES: readonly Oddity[] = [
  {
    name: 'a length that is longer than the body, and an end',
    says(line) {
      line.write(head('content-length: 100\r\n') + ANSWER)
      line.close()
    },
    gets: FAILED,
  },
  {
    name: 'a length that is longer than the body, and silence',
    says: line => line.write(head('content-length: 100\r\n') + ANSWER),
    timeouts: { idleMs: 300 },
    gets: late('silence'),
  },
  {
    name: 'a length that is shorter than the body: what is too much is not the next answer',
    says: line => line.write(head('content-length: 3\r\n') + ANSWER),
    gets: ANSWER.slice(0, 3),
  },
  { name: 'a length below zero', says: line => line.write(head('content-length: -3\r\n') + ANSWER), gets: FAILED },
  { name: 'a length in words', says: line => line.write(head('content-length: long\r\n') + ANSWER), gets: FAILED },
  {
    name: 'two lengths',
    says: line => line.write(head('content-length: 3\r\ncontent-length: 7\r\n') + ANSWER),
    gets: FAILED,
  },
  {
    name: 'a body without a length, up to the end',
    says(line) {
      line.write(head() + ANSWER)
      line.close()
    },
    gets: ANSWER,
  },
  {
    name: 'chunks without an end',
    says(line) {
      line.write(CHUNKED + chunk(ANSWER))
      line.close()
    },
    gets: FAILED,
  },
  { name: 'a chunk of no size', says: line => line.write(`${CHUNKED}zz\r\n${ANSWER}\r\n`), gets: FAILED },
  { name: 'a chunk longer than it says', says: line => line.write(`${CHUNKED}3\r\n${ANSWER}\r\n${END}`), gets: FAILED },
  { name: 'something that is not HTTP', says: line => line.write('SSH-2.0-Server_9.9\r\n'), gets: FAILED },
  { name: 'a megabyte of nothing', says: line => line.write(Buffer.alloc(1024 * 1024, 0xff)), gets: FAILED },
  { name: 'a status that is none', says: line => line.write(head('content-length: 0\r\n', '99 Low')), gets: FAILED },
  {
    name: 'a redirect',
    says: line => line.write(head('location: /elsewhere\r\ncontent-length: 0\r\n', '302 Found')),
    gets: { ...FAILED, problem: 'The upstream failed (HTTP 302)' },
    isKept: true,
  },
  {
    name: 'another protocol from here on',
    says: line => line.write(head('upgrade: other\r\nconnection: upgrade\r\n', '101 Switching Protocols') + ANSWER),
    gets: FAILED,
  },
  {
    name: 'hints before the answer',
    says: line => line.write(head('link: </a>\r\n', '103 Early Hints') + sized(ANSWER) + ANSWER),
    gets: ANSWER,
    isKept: true,
  },
  {
    name: 'hints for ever',
    says: line => line.repeat(head('', '100 Continue'), 20),
    timeouts: { firstByteMs: 500 },
    gets: late('first byte'),
  },
  {
    name: 'headers that come one by one, for ever',
    says(line) {
      line.write('HTTP/1.1 200 OK\r\n')
      line.repeat('x-more: to come\r\n', 20)
    },
    timeouts: { firstByteMs: 500 },
    gets: late('first byte'),
  },
  {
    name: 'headers without end',
    says(line) {
      line.write('HTTP/1.1 200 OK\r\n')
      line.flood(Buffer.from(`x-more: ${'to come '.repeat(500)}\r\n`))
    },
    gets: FAILED,
  },
  {
    name: 'one header without end',
    says(line) {
      line.write('HTTP/1.1 200 OK\r\nx-more: ')
      line.flood(Buffer.from('to come '.repeat(500)))
    },
    gets: FAILED,
  },
  {
    name: 'a body without end',
    says(line) {
      line.write(head())
      line.flood(Buffer.alloc(64 * 1024, 'a'))
    },
    gets: TOO_LONG,
  },
  {
    name: 'a body that comes letter by letter, for ever',
    says(line) {
      line.write(head())
      line.repeat('a', 20)
    },
    timeouts: { totalMs: 600 },
    gets: late('total'),
  },
  {
    name: 'comments, for ever',
    says(line) {
      line.write(head('content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n'))
      line.repeat(chunk(': still thinking\n\n'), 20)
    },
    timeouts: { idleMs: 5_000, totalMs: 600 },
    gets: late('total'),
  },
  {
    name: 'something that says it is compressed',
    says: line => line.write(sized(ANSWER, 'content-encoding: gzip\r\n') + ANSWER),
    gets: FAILED,
  },
  {
    name: 'half of something compressed',
    says(line) {
      line.write(sized(packed.subarray(0, -20), 'content-encoding: gzip\r\n'))
      line.write(packed.subarray(0, -20))
    },
    gets: FAILED,
  },
  {
    name: 'a little that is very much when it is unpacked',
    says(line) {
      line.write(sized(zeros, 'content-encoding: gzip\r\n'))
      line.write(zeros)
    },
    gets: TOO_LONG,
    isKept: 'maybe',
  },
  {
    name: 'an answer that is compressed',
    says(line) {
      const small = brotliCompressSync(ANSWER)
      line.write(sized(small, 'content-encoding: br\r\n'))
      line.write(small)
    },
    gets: ANSWER,
    isKept: true,
  },
  {
    name: 'an answer in a coding that nobody knows: whoever reads it finds out',
    says: line => line.write(sized(ANSWER, 'content-encoding: utf-8\r\n') + ANSWER),
    gets: ANSWER,
    isKept: true,
  },
  {
    name: 'a refusal whose body never ends',
    says(line) {
      line.write(head('retry-after: 7\r\n', '500 No'))
      line.flood(Buffer.alloc(64 * 1024, 'a'))
    },
    gets: { ...FAILED, problem: 'The upstream failed (HTTP 500)', restMs: 7_000 },
  },
  {
    name: 'a refusal whose body never comes: its status counts, and is not waited for',
    says: line => line.write(head('content-length: 10\r\nretry-after: 7\r\n', '429 No')),
    gets: { kind: 'upstream-rate-limited', retryAfter: '7', restMs: 7_000 },
  },
  {
    name: 'a refusal that breaks off',
    says(line) {
      line.write(`${head('content-length: 100\r\n', '400 No')}{"error":`)
      line.close()
    },
    gets: { kind: 'upstream-invalid-request' },
  },
]

describe('an upstream that sends', () => {
  for (const { name, says, gets, timeouts, isKept } of ODDITIES) {
    test.concurrent(name, async () => {
      const upstream = upstreamThat(says)
      const got = await call(upstream.url, timeouts && { timeouts })
      if (typeof gets === 'string') expect(got).toBe(gets)
      else expect(got).toMatchObject(gets)
      if (isKept !== 'maybe') await expectOpen(upstream, isKept ? 1 : 0)
    })
  }
})

/** So many connections are left, and no more. */
async function expectOpen({ open }: RawUpstream, wanted: number): Promise<void> {
  expect(await eventually(open, count => count === wanted)).toBe(wanted)
}

// ── kept connections ────────────────────────────────────────────────────────────────────────────────────────────────

const LOST = { kind: 'upstream-error', isLost: true }

describe('a kept connection that the upstream has closed', () => {
  /** Not before the request is through: a connection that is answered too early is not kept. */
  const answerSoon = (line: Line) => void setTimeout(() => line.write(sized(ANSWER) + ANSWER), 50)

  test.concurrent('while nobody used it is not used again', async () => {
    const upstream = upstreamThat(line => {
      line.write(sized(ANSWER) + ANSWER)
      setTimeout(() => line.sayGoodbye(), 20)
    })
    expect(await call(upstream.url)).toBe(ANSWER)
    await expectOpen(upstream, 0)
    expect(await call(upstream.url)).toBe(ANSWER)
  })

  const ENDINGS: [how: string, end: (line: Line) => void][] = [
    ['by closing it', line => line.close()],
    ['by resetting it', line => line.reset()],
    [
      'in the middle of a status line',
      line => {
        line.write('HTTP/1.1 20')
        line.close()
      },
    ],
  ]
  test.concurrent('with all others that were idle: one call is lost, and the next gets a new one', async () => {
    const upstream = upstreamThat(line => (line.turn === 1 ? answerSoon(line) : line.reset()))
    const calls = await Promise.all(Array.from({ length: 4 }, () => call(upstream.url)))
    expect(calls).toEqual(Array(4).fill(ANSWER))
    expect(upstream.open()).toBe(4)
    expect(await call(upstream.url)).toMatchObject(LOST)
    expect(await call(upstream.url)).toBe(ANSWER)
  })

  for (const [how, end] of ENDINGS) {
    test.concurrent(`when it was used again, ${how}: lost, and not sent a second time behind our back`, async () => {
      const upstream = upstreamThat(line => (line.turn === 1 ? answerSoon(line) : end(line)))
      expect(await call(upstream.url)).toBe(ANSWER)
      expect(await call(upstream.url)).toMatchObject(LOST)
      expect([upstream.requests(), upstream.connections()]).toEqual([2, 1])
      expect(await call(upstream.url)).toBe(ANSWER)
      expect([upstream.requests(), upstream.connections()]).toEqual([3, 2])
    })
  }
})

test.concurrent('nothing is lost where nothing was sent, or where an answer had begun', async () => {
  const gone = rawUpstream(() => {})
  gone.stop()
  const cut = upstreamThat(line => {
    line.write(head('content-length: 100\r\n') + ANSWER)
    line.reset()
  })
  const plain = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('plain') })
  const addresses = [gone.url, cut.url, 'http://no-such-host.invalid/', `https://127.0.0.1:${plain.port}/`]
  for (const url of addresses) {
    const failure = await call(url)
    expect(failure).toMatchObject(FAILED)
    expect(failure).not.toHaveProperty('isLost')
  }
  await plain.stop(true)
})

// ── bodies on their way ─────────────────────────────────────────────────────────────────────────────────────────────

test.concurrent('a body of any length and any characters arrives whole, on connections that are used again', async () => {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async request => {
      const text = await request.text()
      return Response.json([request.headers.get('content-length'), request.headers.get('transfer-encoding'), text])
    },
  })
  for (const text of ['{}', 'Grüße 世界 🌊', 'half \ud800 of a character', 'long 世 '.repeat(300_000)]) {
    const sent = Buffer.from(text)
    const got = JSON.parse(String(await call(server.url.href, { body: text })))
    expect(got).toEqual([String(sent.byteLength), null, sent.toString()])
  }
  await server.stop(true)
})

test.concurrent('an upstream that refuses before it has read the body is heard', async () => {
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket) {
        socket.pause()
        socket.write(head('content-length: 0\r\n', '413 Too much'))
      },
    },
  })
  const failure = await call(`http://127.0.0.1:${listener.port}/`, { body: 'x'.repeat(20_000_000) })
  expect(failure).toMatchObject({ kind: 'upstream-invalid-request' })
  listener.stop(true)
})

// ── limits ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** For an answer that comes at once, on a machine that is busy with much else; not so long that waiting for its end is. */
const AMPLE_MS = 2_000

test.concurrent('an answer may take longer than a connection, on a new one and on a kept one', async () => {
  const upstream = upstreamThat(line => void setTimeout(() => line.write(sized(ANSWER) + ANSWER), 1.5 * AMPLE_MS))
  const timeouts = { connectMs: AMPLE_MS }
  expect(await call(upstream.url, { timeouts })).toBe(ANSWER)
  expect(await call(upstream.url, { timeouts })).toBe(ANSWER)
  expect(upstream.connections()).toBe(1)
})

test.concurrent('a call that takes too long is over even if nobody has read meanwhile', async () => {
  const upstream = upstreamThat(line => line.write(head('content-length: 100\r\n') + ANSWER))
  const timeouts = { ...PATIENT, totalMs: AMPLE_MS }
  const reply = await callUpstream({
    url: upstream.url,
    headers: {},
    body: BODY,
    timeouts,
    abort: new Abort(),
  })
  expect(Buffer.from((await reply.next()) ?? []).toString()).toBe(ANSWER)
  await expectOpen(upstream, 0)
  await expect(reply.next()).rejects.toMatchObject({ failure: late('total') })
})

test.concurrent('a refusal counts even if the time of the call runs out while the upstream says why', async () => {
  const upstream = upstreamThat(line => line.write(head('content-length: 100\r\n', '500 No') + ANSWER))
  const failure = await call(upstream.url, { timeouts: { totalMs: AMPLE_MS } })
  expect(failure).toMatchObject({ ...FAILED, problem: 'The upstream failed (HTTP 500)' })
  await expectOpen(upstream, 0)
})

test.concurrent('a call that is over is not ended by its time any more', async () => {
  const upstream = upstreamThat(line => line.write(sized(ANSWER) + ANSWER))
  const abort = new Abort()
  expect(await call(upstream.url, { abort, timeouts: { totalMs: AMPLE_MS } })).toBe(ANSWER)
  await Bun.sleep(1.5 * AMPLE_MS)
  expect(abort.isAborted).toBe(false)
})

// ── calls that are called off ───────────────────────────────────────────────────────────────────────────────────────

describe('a call that is called off', () => {
  const reason = new GatewayError({ kind: 'client-gone' })
  const STAGES: [when: string, says: (line: Line) => void][] = [
    ['before anything has come', () => {}],
    ['in the middle of a body', line => line.write(head('content-length: 100\r\n') + ANSWER)],
    ['in the middle of a complaint', line => line.write(`${head('content-length: 100\r\n', '500 No')}{"error":`)],
  ]
  for (const [when, says] of STAGES) {
    test.concurrent(`${when} fails with the reason, and lets the upstream go`, async () => {
      const abort = new Abort()
      const upstream = upstreamThat(line => {
        says(line)
        setTimeout(() => abort.abort(reason), 50)
      })
      expect(await call(upstream.url, { abort })).toEqual(reason.failure)
      await expectOpen(upstream, 0)
    })
  }

  test.concurrent('before it began never reaches the upstream', async () => {
    const upstream = upstreamThat(line => line.write(sized(ANSWER) + ANSWER))
    const abort = new Abort()
    abort.abort(reason)
    expect(await call(upstream.url, { abort })).toEqual(reason.failure)
    expect(upstream.requests()).toBe(0)
  })
})

test.concurrent('a process whose calls are over has nothing left to wait for', async () => {
  const silent = upstreamThat(() => {})
  const stalling = upstreamThat(line => line.write(head('content-length: 100\r\n') + ANSWER))
  const cut = upstreamThat(line => {
    line.write(head('content-length: 100\r\n') + ANSWER)
    line.close()
  })
  const good = upstreamThat(line => line.write(sized(ANSWER) + ANSWER))
  const urls = [silent, stalling, cut, good].map(({ url }) => url)
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/called-off.ts`, ...urls], { stdout: 'pipe' })
  const ended = await Promise.race([child.exited, Bun.sleep(10_000)])
  child.kill('SIGKILL')
  expect(ended).toBe(0)
  expect(await new Response(child.stdout).text()).toBe(
    'silence, first byte, called off, dropped, upstream-error, answered\n',
  )
}, 15_000)
