import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { brotliCompressSync, gzipSync, constants as ZLIB, zstdCompressSync } from 'node:zlib'
import { type Duet, startDuet } from '../support/duet.ts'
import { CHAT, MESSAGES, post, send } from '../support/http.ts'
import { ask, expectError, idOf, PATHS, PROTOCOLS, read, UPSTREAMS } from '../support/wire.ts'

let duet: Duet
beforeAll(async () => {
  duet = await startDuet()
})
afterAll(() => duet.stop())

const MODEL = UPSTREAMS[0].model
const PREFIXES = ['', '/v1', '/v1/v1']

const ROUTES = [
  { method: 'POST', route: '/chat/completions', body: ask('chat', MODEL, 'Hi'), status: 200 },
  { method: 'POST', route: '/messages', body: ask('messages', MODEL, 'Hi'), status: 200 },
  { method: 'GET', route: '/models', body: undefined, status: 200 },
  { method: 'GET', route: `/models/${MODEL}`, body: undefined, status: 200 },
  { method: 'GET', route: `/models/${encodeURIComponent(MODEL)}`, body: undefined, status: 200 },
  { method: 'POST', route: '/embeddings', body: {}, status: 400 },
  { method: 'POST', route: '/completions', body: {}, status: 400 },
  { method: 'POST', route: '/images/generations', body: {}, status: 400 },
  { method: 'POST', route: '/messages/count_tokens', body: {}, status: 404 },
] as const

const call = (method: string, path: string, body?: object) =>
  send(duet, path, body ? { method, body: JSON.stringify(body) } : { method })

describe('Addresses: the prefix', () => {
  for (const { method, route, body, status } of ROUTES) {
    for (const prefix of PREFIXES) {
      test(`Addresses: ${method} ${prefix}${route} is one route with ${method} /v1${route}`, async () => {
        const answer = await call(method, prefix + route, body)
        expect(answer.status).toBe(status)
        if (status === 404) expectError(answer, { status, message: `Invalid URL (${method} ${prefix}${route})` })
        if (status === 400) expectError(answer, { status, code: 'invalid_request_error' })
      })
    }
  }
})

describe('Addresses: queries', () => {
  for (const { method, route, body, status } of ROUTES) {
    test(`Addresses: a query is ignored for routing on ${method} ${route}`, async () => {
      expect((await call(method, `/v1${route}?beta=true&model=x`, body)).status).toBe(status)
    })
  }

  test('Addresses: <path> in Invalid URL is the path as it was requested, without the query', async () => {
    for (const path of ['/v1/messages/count_tokens', '/v1/v1/messages/count_tokens', '/messages/count_tokens']) {
      const answer = await call('POST', `${path}?beta=true`, {})
      expectError(answer, { status: 404, message: `Invalid URL (POST ${path})` })
    }
  })
})

describe('Addresses: unknown routes', () => {
  const UNKNOWN = [
    'GET /v1',
    'GET /v1/nothing',
    'POST /v1/responses',
    'POST /v1/chat',
    'POST /v1/chat/completions/more',
    'POST /v1/messages/batches',
    'DELETE /v1/files/abc',
    'PUT /v1/v1/nothing',
    'GET /v1/toString',
    'GET /v1/a%20b',
  ]
  const WRONG_METHOD = [
    'GET /v1/messages',
    'GET /v1/chat/completions',
    'PUT /v1/messages',
    'DELETE /v1/chat/completions',
    'PATCH /v1/messages',
    'OPTIONS /v1/messages',
    'POST /v1/models',
    'DELETE /v1/models',
    `POST /v1/models/${MODEL}`,
    'GET /v1/messages/count_tokens',
  ]
  for (const line of [...UNKNOWN, ...WRONG_METHOD]) {
    test(`Addresses: ${line} is 404 with the body of count_tokens, with or without a credential`, async () => {
      const [method = '', path = ''] = line.split(' ')
      for (const key of [duet.key, null]) {
        const answer = await send(duet, path, { method, key })
        expectError(answer, {
          status: 404,
          type: 'invalid_request_error',
          code: '',
          param: '',
          message: `Invalid URL (${line})`,
        })
      }
    })
  }
})

describe('Addresses: unsupported paths', () => {
  for (const path of ['/v1/embeddings', '/v1/completions', '/v1/images/generations']) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      test(`Addresses: ${method} ${path} is 401, then 400`, async () => {
        expectError(await send(duet, path, { method, key: null }), { status: 401, code: '', message: 'Invalid token' })
        expectError(await send(duet, path, { method }), { status: 400, code: 'invalid_request_error' })
      })
    }
  }
})

describe('Addresses: HEAD', () => {
  for (const path of ['/v1/models', `/v1/models/${MODEL}`, '/models']) {
    test(`Addresses: HEAD ${path} answers like GET, without a body`, async () => {
      const [got, head] = [await send(duet, path), await send(duet, path, { method: 'HEAD' })]
      expect({ status: head.status, text: head.text }).toEqual({ status: 200, text: '' })
      for (const name of ['content-type', 'content-length', 'access-control-allow-origin']) {
        expect(head.headers.get(name)).toBe(got.headers.get(name))
      }
      idOf(head)
    })
  }

  test('Addresses: HEAD /v1/models without a credential is 401, without a body', async () => {
    const { status, text } = await send(duet, '/v1/models', { method: 'HEAD', key: null })
    expect({ status, text }).toEqual({ status: 401, text: '' })
  })

  for (const path of ['/v1', '/v1/nothing', '/v1/messages', '/v1/chat/completions', '/nothing']) {
    test(`Addresses: HEAD ${path} is a quiet 404`, async () => {
      const { status, text } = await send(duet, path, { method: 'HEAD', key: null })
      expect({ status, text }).toEqual({ status: 404, text: '' })
    })
  }
})

const ENCODERS: Record<string, (bytes: Uint8Array) => Uint8Array> = {
  gzip: gzipSync,
  // The best it can do takes seconds, and is no better here.
  br: bytes => brotliCompressSync(bytes, { params: { [ZLIB.BROTLI_PARAM_QUALITY]: 1 } }),
  zstd: zstdCompressSync,
}
/** No limit is promised; a conversation this long is beyond any. */
const BYTES_TOO_MANY = 64 * 1024 * 1024
const LONG = `${JSON.stringify(ask('chat', MODEL, 'Hi')).slice(0, -1)},"pad":"${' '.repeat(BYTES_TOO_MANY)}"}`

function blanks(bytes: number): ReadableStream<Uint8Array> {
  const chunk = new Uint8Array(1024 * 1024).fill(0x20)
  let left = bytes
  return new ReadableStream({
    pull(controller) {
      controller.enqueue(chunk)
      left -= chunk.byteLength
      if (left <= 0) controller.close()
    },
  })
}

describe('Addresses: bodies', () => {
  for (const [encoding, encode] of Object.entries(ENCODERS)) {
    for (const protocol of PROTOCOLS) {
      test(`Addresses: a body with content-encoding ${encoding} is understood (${protocol})`, async () => {
        const bytes = encode(Buffer.from(JSON.stringify(ask(protocol, MODEL, 'What is a walrus? 海象'))))
        const headers = { 'content-encoding': encoding }
        const { status, body } = await send(duet, PATHS[protocol], { method: 'POST', body: bytes, headers })
        expect(status).toBe(200)
        expect(read(protocol, body).text).toContain('walrus? 海象')
      })
    }

    test(`Addresses: the size limit is on the decoded bytes of ${encoding}: a bomb is 413`, async () => {
      const bytes = encode(Buffer.from(LONG))
      expect(bytes.byteLength).toBeLessThan(1024 * 1024)
      const answer = await send(duet, CHAT, { method: 'POST', body: bytes, headers: { 'content-encoding': encoding } })
      expectError(answer, { status: 413 })
    })

    test(`Addresses: bytes that are not ${encoding} are a body that is not JSON`, async () => {
      const init = { method: 'POST', body: '{"model":1}', headers: { 'content-encoding': encoding } }
      expectError(await send(duet, CHAT, init), { status: 400, code: '' })
    })
  }

  for (const protocol of PROTOCOLS) {
    test(`Addresses: a plain body beyond the limit is 413 (${protocol})`, async () => {
      expectError(await post(duet, PATHS[protocol], LONG), { status: 413, protocol })
    })
  }

  test('Addresses: a body beyond the limit that never says how long it is is 413', async () => {
    expectError(await send(duet, CHAT, { method: 'POST', body: blanks(BYTES_TOO_MANY) }), { status: 413 })
  })

  test('Addresses: the gateway goes on after a bomb', async () => {
    expect((await post(duet, CHAT, ask('chat', MODEL, 'Hi'))).status).toBe(200)
  })

  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'nonsense',
    undefined,
  ]) {
    test(`Addresses: a body is read as JSON whatever its content-type says: ${type ?? 'none'}`, async () => {
      for (const protocol of PROTOCOLS) {
        const bytes = Buffer.from(JSON.stringify(ask(protocol, MODEL, 'Hi')))
        const headers = type === undefined ? {} : { 'content-type': type }
        const { status } = await send(duet, PATHS[protocol], { method: 'POST', body: bytes, headers })
        expect(status).toBe(200)
      }
    })
  }
})

describe('Addresses: CORS', () => {
  const ORIGIN = { origin: 'https://app.example' }
  const preflight = (path: string, method = 'POST') =>
    send(duet, path, {
      method: 'OPTIONS',
      key: null,
      headers: {
        ...ORIGIN,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization,x-api-key,content-type,anthropic-version',
      },
    })

  for (const { path, method } of [
    { path: CHAT, method: 'POST' },
    { path: MESSAGES, method: 'POST' },
    { path: '/v1/models', method: 'GET' },
  ]) {
    test(`Addresses: CORS is open on ${path}: a preflight is granted, with every header a client sends`, async () => {
      const { status, headers } = await preflight(path, method)
      expect([200, 204]).toContain(status)
      expect(headers.get('access-control-allow-origin')).toBe('*')
      expect(headers.get('access-control-allow-methods')).toContain(method)
      // A star does not stand for authorization here.
      const allowed = headers
        .get('access-control-allow-headers')
        ?.toLowerCase()
        .split(/\s*,\s*/)
      expect(allowed).toEqual(
        expect.arrayContaining(['authorization', 'x-api-key', 'content-type', 'anthropic-version']),
      )
    })
  }

  for (const protocol of PROTOCOLS) {
    test(`Addresses: CORS is open on successes, streams and errors of ${protocol}`, async () => {
      const bodies = [ask(protocol, MODEL, 'Hi'), ask(protocol, MODEL, 'Hi', { stream: true }), {}]
      const answers = await Promise.all(bodies.map(body => post(duet, PATHS[protocol], body, { headers: ORIGIN })))
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 500])
      for (const { headers } of answers) expect(headers.get('access-control-allow-origin')).toBe('*')
    })
  }

  test('Addresses: CORS is open on the list, on 401 and on 404', async () => {
    for (const [path, key] of [
      ['/v1/models', duet.key],
      ['/v1/models', null],
      ['/v1/nothing', null],
    ] as const) {
      const { headers } = await send(duet, path, { key, headers: ORIGIN })
      expect(headers.get('access-control-allow-origin')).toBe('*')
    }
  })

  const CLOSED = ['/api', '/api/accounts', '/api/keys', '/api/nothing', '/health/live', '/health/ready', '/metrics']
  for (const path of CLOSED) {
    test(`Addresses: CORS is closed on ${path}`, async () => {
      const granted = (headers: Headers) => [...headers.keys()].filter(name => name.startsWith('access-control-allow'))
      const got = await send(duet, path, { key: duet.adminToken, headers: ORIGIN })
      const asked = await preflight(path)
      expect({ got: granted(got.headers), asked: granted(asked.headers) }).toEqual({ got: [], asked: [] })
    })
  }
})
