import { expect, test } from 'bun:test'
import { startDuet } from '../../support/duet.ts'
import { CHAT, user } from '../../support/http.ts'
import { freePort, run } from './run.ts'

const toward = (url: string) => ({ env: { DUET_URL: url } })

test('a server that takes calls is ready and live, and no token is asked for', async () => {
  const duet = await startDuet()
  const options = toward(duet.url)
  expect(await run(['health'], options)).toEqual({ code: 0, out: 'it takes calls\n', err: '' })
  expect(await run(['health', 'live'], options)).toEqual({ code: 0, out: 'it runs\n', err: '' })
  expect(await run(['health', '--json'], options)).toEqual({ code: 0, out: '{"status":"ok"}\n', err: '' })
  expect(await run(['health', '--quiet'], options)).toEqual({ code: 0, out: '', err: '' })
  await duet.stop()
})

test('a server that stops is live, but not ready', async () => {
  const duet = await startDuet()
  const stalled = await fetch(duet.url + CHAT, {
    method: 'POST',
    headers: { authorization: `Bearer ${duet.key}` },
    body: JSON.stringify({ model: 'openai/gpt-4.1', stream: true, messages: user('[[stall]]') }),
  })
  const stopped = duet.stop()
  while ((await fetch(`${duet.url}/health/ready`)).status === 200) await Bun.sleep(5)
  const ready = await run(['health', 'ready'], toward(duet.url))
  expect([ready.code, ready.out]).toEqual([3, ''])
  expect(ready.err).toStartWith(`duet: ${duet.url}/health/ready answered 503: `)
  expect((await run(['health', 'live'], toward(duet.url))).code).toBe(0)
  // Told twice, it does not wait for the stream that never ends.
  await duet.stop()
  await stalled.body?.cancel()
  expect(await stopped).toBe(0)
})

test('where nobody answers, the code is 3', async () => {
  const port = freePort()
  const { code, out, err } = await run(['health'], { env: { DUET_PORT: port, DUET_HOST: '0.0.0.0' } })
  expect([code, out]).toEqual([3, ''])
  expect(err).toBe(`duet: http://127.0.0.1:${port}/health/ready does not answer (ECONNREFUSED)\n`)
})

test('what answers everything with 200 is not taken for a healthy Duet', async () => {
  for (const text of ['hello', '"ok"', '{"status":"up"}', 'null']) {
    const other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response(text) })
    const { code, err } = await run(['health'], toward(other.url.origin))
    expect([code, err]).toEqual([3, `duet: ${other.url.origin}/health/ready answered 200: ${text}\n`])
    await other.stop(true)
  }
})

test('only the two questions that a server answers can be asked', async () => {
  for (const what of ['dead', 'constructor']) {
    const { code, err } = await run(['health', what])
    expect(code).toBe(2)
    expect(err).toStartWith(`duet: <what>: must be ready or live, not "${what}"\n`)
  }
})
