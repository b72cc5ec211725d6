import { expect, test } from 'bun:test'
import { startDuet } from '../support/duet.ts'
import { CHAT, framesOf, MESSAGES, user } from '../support/http.ts'

const ask = (content: string) =>
  JSON.stringify({ model: 'openai/gpt-4.1', max_tokens: 4000, stream: true, messages: user(content) })

test('SIGTERM without work ends at once with 0', async () => {
  const duet = await startDuet()
  expect(await duet.stop()).toBe(0)
})

test('SIGTERM lets a stream finish, takes no new work, settles, and ends with 0', async () => {
  const duet = await startDuet()
  const headers = { authorization: `Bearer ${duet.key}` }
  const response = await fetch(duet.url + CHAT, {
    method: 'POST',
    headers,
    body: ask('[[delay 300ms]] [[tokens 3000]]'),
  })
  const reader = response.body?.getReader()
  const first = await reader?.read()
  const stopped = duet.stop()
  let text = new TextDecoder().decode(first?.value)
  for (let read = await reader?.read(); read?.value; read = await reader?.read())
    text += new TextDecoder().decode(read.value)
  expect(framesOf(text).at(-1)?.data).toBe('[DONE]')
  expect(await stopped).toBe(0)
  expect(await fetch(`${duet.base}/models`, { headers }).catch(() => 'refused')).toBe('refused')
  const again = await duet.restart()
  const { body } = await again.admin('GET', '/api/accounts/default')
  expect(body.held).toBe('0.00')
  expect(Number(body.spent)).toBeGreaterThan(0)
  await again.stop()
})

test('a stream that outlasts the limit is cut with an error frame and settled', async () => {
  const duet = await startDuet()
  const headers = { 'x-api-key': duet.key }
  const response = await fetch(duet.url + MESSAGES, { method: 'POST', headers, body: ask('[[stall]]') })
  const reader = response.body?.getReader()
  const first = await reader?.read()
  let text = new TextDecoder().decode(first?.value)
  const stopped = duet.stop()
  for (let read = await reader?.read(); read?.value; read = await reader?.read())
    text += new TextDecoder().decode(read.value)
  const last = framesOf(text).at(-1)
  expect(last?.event).toBe('error')
  expect(last?.json.error.code).toBe('shutting_down')
  expect(await stopped).toBe(0)
  const again = await duet.restart()
  const { body } = await again.admin('GET', '/api/accounts/default')
  expect(body.held).toBe('0.00')
  expect(Number(body.spent)).toBeGreaterThan(0)
  await again.stop()
}, 45_000)
