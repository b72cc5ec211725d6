import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { GatewayError, wireOf } from '../../src/core/failure.ts'
import { readBody } from '../../src/http/body.ts'

/** The reader of bodies behind a real socket, with limits small enough to wait for. */
const LIMITS = { bytesMax: 1_000, secondsMax: 0.3 }
let server: ReturnType<typeof Bun.serve>

beforeAll(() => {
  server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      try {
        return new Response(await readBody(request, LIMITS))
      } catch (error) {
        return error instanceof GatewayError
          ? new Response(error.failure.kind, { status: wireOf(error.failure).status })
          : new Response(String(error), { status: 599 })
      }
    },
  })
})
afterAll(() => server.stop(true))

const post = async (body: string | Uint8Array, headers: Record<string, string> = {}) => {
  const response = await fetch(server.url, { method: 'POST', body, headers })
  return { status: response.status, text: await response.text() }
}

test('a body that never arrives is 408', async () => {
  const answer = await dribble(['{"a'])
  expect(answer).toStartWith('HTTP/1.1 408 ')
  expect(answer).toEndWith('body-timeout')
})

test('a body that arrives byte by byte for too long is 408, however busy its sender is', async () => {
  expect(await dribble(Array.from({ length: 60 }, () => 'x'))).toStartWith('HTTP/1.1 408 ')
})

test('a body may come in pieces', async () => {
  expect(await dribble([...'x'.repeat(8), 'y'.repeat(92)])).toEndWith(`${'x'.repeat(8)}${'y'.repeat(92)}`)
})

test('the limit counts the decoded bytes', async () => {
  const bomb = 'x'.repeat(1_000_000)
  expect((await post(gzipSync(bomb), { 'content-encoding': 'gzip' })).status).toBe(413)
  expect((await post(zstdCompressSync(bomb), { 'content-encoding': 'zstd' })).status).toBe(413)
  expect(await post(gzipSync('small'), { 'content-encoding': 'gzip' })).toEqual({ status: 200, text: 'small' })
})

test('an encoding that lies is a body that is not JSON, an unknown one is named', async () => {
  expect(await post('plain', { 'content-encoding': 'gzip' })).toEqual({ status: 400, text: 'body-not-json' })
  expect(await post('plain', { 'content-encoding': 'rot13' })).toEqual({ status: 415, text: 'body-encoding-unknown' })
  expect(await post('plain', { 'content-encoding': '__proto__' })).toEqual({
    status: 415,
    text: 'body-encoding-unknown',
  })
})

/** Announces 100 bytes and sends the pieces ten milliseconds apart. */
function dribble(pieces: readonly string[]): Promise<string> {
  return new Promise(resolve => {
    let received = ''
    const waiting = [...pieces]
    const socket = connect(Number(server.port), '127.0.0.1', () => {
      socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n')
      const timer = setInterval(() => {
        const next = waiting.shift()
        if (next === undefined || socket.destroyed) clearInterval(timer)
        else socket.write(next)
      }, 10)
    })
    socket.on('data', data => {
      received += data
      socket.end()
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(received))
  })
}
