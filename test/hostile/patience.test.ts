import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type App, startApp } from '../../src/app.ts'
import { readConfig } from '../../src/config/config.ts'
import { EDGE_LIMITS } from '../../src/http/limits.ts'
import { ADMIN_TOKEN, type Duet, type JsonBody, KEY, newFolder, startDuet } from '../support/duet.ts'
import { CHAT, framesOf, MESSAGES, post, send, user } from '../support/http.ts'
import { noteSkipped } from '../support/skipped.ts'
import { scriptUpstream } from '../support/upstream.ts'
import { protocolOf } from '../support/vendor.ts'
import { eventually } from '../support/wire.ts'
import { memoryOf } from './memory.ts'
import { RawConnection } from './raw.ts'
import { beginTorrent, torrent, torrentConfig } from './torrent.ts'

/** How long somebody may take. All of these wait for seconds, together. */

let duet: Duet

beforeAll(async () => {
  duet = await startDuet()
})
afterAll(async () => {
  expect(await duet.stop()).toBe(0)
})

const HOST = 'host: x\r\n'
const HELLO = `GET /health/live HTTP/1.1\r\n${HOST}\r\n`

const ask = (content: string, more: object = {}) => ({
  model: 'openai/gpt-4.1',
  max_tokens: 500,
  messages: user(content),
  ...more,
})

test.concurrent('a connection that is silent, or dribbles its headers, is closed however busy it is', async () => {
  const silent = await RawConnection.open(duet.url)
  const dribbling = await RawConnection.open(duet.url)
  const line = await RawConnection.open(duet.url)
  dribbling.send(`GET /health/live HTTP/1.1\r\n${HOST}x: `)
  const timer = setInterval(() => {
    dribbling.send('a')
    line.send('G')
  }, 250)
  await Promise.all([silent.ended(), dribbling.ended(), line.ended()])
  clearInterval(timer)
  expect([silent, dribbling, line].map(({ received }) => received.includes('HTTP/1.1 200 '))).toEqual([
    false,
    false,
    false,
  ])
}, 60_000)

test.concurrent('a stream whose upstream is silent shows a sign of life', async () => {
  const leaving = new AbortController()
  const headers = { authorization: `Bearer ${duet.key}` }
  const signs = [CHAT, MESSAGES].map(async path => {
    const init = {
      method: 'POST',
      headers,
      body: JSON.stringify(ask('[[stall]]', { stream: true })),
      signal: leaving.signal,
    }
    const reader = (await fetch(duet.url + path, init)).body?.getReader()
    let text = ''
    while (!/: keepalive\n\n|event: ping\n/.test(text)) text += new TextDecoder().decode((await reader?.read())?.value)
    return text
  })
  const [chat = '', messages = ''] = await Promise.all(signs)
  leaving.abort()
  expect(chat).toEndWith(': keepalive\n\n')
  expect([framesOf(messages)[0]?.event, framesOf(messages).at(-1)?.event]).toEqual(['message_start', 'ping'])
}, 60_000)

test.concurrent('ten thousand idle connections hinder nobody, and leave nothing behind', async () => {
  const wanted = 10_000
  // Each has two ends, but they are in two processes.
  const allowed = Number(Bun.spawnSync(['sh', '-c', 'ulimit -n']).stdout.toString()) - 1_000
  const count = Number.isNaN(allowed) ? wanted : Math.min(wanted, allowed)
  const note = `Only ${count} of ${wanted} idle connections were tried: this process may open no more.`
  if (count < wanted) noteSkipped(note)
  expect(count).toBeGreaterThan(0)

  const duet = await startDuet()
  const withIdle: number[] = []
  for (let round = 0; round < 3; round++) {
    const idle = await openIdle(duet, count)
    expect(idle.answered()).toBe(count)
    expect((await post(duet, CHAT, ask('still there?'))).status).toBe(200)
    expect((await send(duet, '/health/ready')).status).toBe(200)
    expect(idle.closed()).toBe(0)
    withIdle.push(memoryOf(duet) ?? 0)
    idle.close()
    await eventually(idle.closed, closed => closed === count)
  }
  expect((await post(duet, CHAT, ask('still there?'))).status).toBe(200)
  // Those of the last round are where those of the one before were.
  const [, second = 0, third = 0] = withIdle
  expect(third - second).toBeLessThan(count * 1024)
  expect(await duet.stop()).toBe(0)
}, 60_000)

/** Connections that have been used once, as a client's pool leaves them. */
async function openIdle({ url }: Duet, count: number) {
  const port = Number(new URL(url).port)
  let answered = 0
  let closed = 0
  const open = () =>
    new Promise<Bun.Socket>((resolve, reject) => {
      Bun.connect({
        hostname: '127.0.0.1',
        port,
        socket: {
          open: socket => void socket.write(HELLO),
          data(socket) {
            answered++
            resolve(socket)
          },
          close: () => void closed++,
          error: (_, error) => reject(error),
        },
      }).catch(reject)
    })
  const sockets: Bun.Socket[] = []
  while (sockets.length < count) {
    const batch = Math.min(500, count - sockets.length)
    sockets.push(...(await Promise.all(Array.from({ length: batch }, open))))
  }
  return {
    answered: () => answered,
    closed: () => closed,
    close: () => {
      for (const socket of sockets) socket.end()
    },
  }
}

// ── with less patience than anybody has ─────────────────────────────────────────────────────────────────────────────

const MB = 1024 * 1024

test.concurrent('a reader who takes nothing for too long has left: the upstream is told, and what was made is paid for', async () => {
  const upstream = scriptUpstream(visit => torrent(protocolOf(visit), 200 * MB))
  // The runtime looks at its connections every four seconds; with less, it would cut those who do read.
  const app = await startImpatient(upstream.base, { ...EDGE_LIMITS, idleSeconds: 8 })
  const stalled = await beginTorrent(app.url, { client: 'messages', upstream: 'chat', content: 'Nobody reads this.' })
  const slow = await beginTorrent(app.url, { client: 'chat', upstream: 'messages', content: 'Somebody reads this.' })
  const sipping = setInterval(() => slow.sip(), 50)
  const [row] = await eventually(
    () => usageOf(app),
    rows => rows.length > 0,
    40_000,
  )
  expect(row).toMatchObject({ status: 'client_gone', protocol: 'messages', source: 'counted' })
  expect(row.tokens.output).toBeGreaterThan(1_000)
  expect(Number(row.cost)).toBeGreaterThan(0)
  expect(upstream.requests.find(({ text }) => text.includes('Nobody'))?.signal.aborted).toBe(true)
  expect([slow.isClosed, slow.received.length > MB]).toEqual([false, true])

  clearInterval(sipping)
  slow.close()
  stalled.close()
  expect(
    (
      await eventually(
        () => usageOf(app),
        rows => rows.length === 2,
      )
    ).length,
  ).toBe(2)
  expect(await app.stop(new AbortController().signal)).toBe(true)
  await upstream.stop()
}, 60_000)

test.concurrent('a sender who takes too long for a body is told so and cut off, however busy it is', async () => {
  const limits = { ...EDGE_LIMITS, body: { ...EDGE_LIMITS.body, secondsMax: 0.5 } }
  const app = await startImpatient('http://127.0.0.1:9/v1', limits)
  const head = `POST ${CHAT} HTTP/1.1\r\n${HOST}authorization: Bearer ${KEY}\r\n`
  const silent = await RawConnection.open(app.url)
  const dribbling = await RawConnection.open(app.url)
  const chunked = await RawConnection.open(app.url)
  silent.send(`${head}content-length: 1000\r\n\r\n{"model"`)
  dribbling.send(`${head}content-length: 1000\r\n\r\n{"model"`)
  chunked.send(`${head}transfer-encoding: chunked\r\n\r\n`)
  const timer = setInterval(() => {
    dribbling.send(' ')
    chunked.send('1\r\n \r\n')
  }, 50)
  for (const connection of [silent, dribbling, chunked]) {
    const received = await connection.ended()
    expect(received).toMatch(/^HTTP\/1\.1 408 .*^connection: close\r\n.*"request_timeout"/ims)
  }
  clearInterval(timer)
  const metrics = await (await fetch(`${app.url}/metrics`)).text()
  expect(metrics).toContain('duet_inflight_requests 0\n')
  expect(await app.stop(new AbortController().signal)).toBe(true)
}, 60_000)

/** A Duet in this process, with other limits than it has by itself. */
async function startImpatient(base: string, limits: typeof EDGE_LIMITS): Promise<App> {
  const folder = newFolder()
  const file = join(folder, 'duet.yaml')
  await Bun.write(file, torrentConfig(base))
  const place = { DUET_PORT: '0', DUET_DATA: join(folder, 'data'), DUET_CONFIG: file }
  const config = readConfig({ ...place, DUET_ADMIN_TOKEN: ADMIN_TOKEN, DUET_BOOTSTRAP_KEY: KEY })
  return startApp(config, () => {}, { limits })
}

async function usageOf({ url }: App): Promise<JsonBody[]> {
  const response = await fetch(`${url}/api/usage`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
  const { data }: JsonBody = await response.json()
  return data
}
