import { expect, test } from 'bun:test'
import { ask, post, postJson, useSandbox } from './support.ts'

const sandbox = useSandbox()

test('both endpoints are served with and without the prefix, whatever the query', async () => {
  const root = sandbox.url.replace('/v1', '')
  for (const base of [root, sandbox.url]) {
    expect((await post(base, 'chat', ask('chat', { user: 'Hi' }))).status).toBe(200)
    expect((await post(base, 'messages', ask('messages', { user: 'Hi' }))).status).toBe(200)
  }
  const body = JSON.stringify(ask('messages', { user: 'Hi' }))
  expect((await fetch(`${sandbox.url}/messages?beta=true`, { method: 'POST', body })).status).toBe(200)
})

test('the list of models is a list', async () => {
  const response = await fetch(`${sandbox.url}/models`)
  expect(await response.json()).toEqual({ object: 'list', data: [] })
})

test('anything else is a 404 in the shape of its protocol', async () => {
  for (const [method, path, protocol] of [
    ['POST', '/embeddings', 'chat'],
    ['GET', '/chat/completions', 'chat'],
    ['GET', '/', 'chat'],
    ['POST', '/messages/count_tokens', 'messages'],
    ['GET', '/messages', 'messages'],
  ] as const) {
    const response = await fetch(sandbox.url + path, { method })
    expect(response.status).toBe(404)
    const error = { message: expect.stringContaining(`Invalid URL (${method} /v1${path}`) }
    expect(await response.json()).toMatchObject(
      protocol === 'chat'
        ? { error: { ...error, param: null } }
        : { type: 'error', error: { ...error, type: 'not_found_error' } },
    )
  }
})

test('the request id is in the header and in the error of the messages protocol', async () => {
  const { headers, body } = await postJson<{ request_id: string }>(sandbox.url, 'messages', {})
  expect(body.request_id).toMatch(/^req_[0-9a-f]{24}$/)
  expect(headers.get('request-id')).toBe(body.request_id)
})
