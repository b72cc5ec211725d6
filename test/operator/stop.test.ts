import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { readConfig } from '../../src/config/config.ts'
import { ConfigError } from '../../src/config/faults.ts'
import { RawConnection } from '../hostile/raw.ts'
import { storeEnv } from '../support/databases.ts'
import { newFolder, startDuet } from '../support/duet.ts'
import { CHAT, framesOf, MESSAGES, user } from '../support/http.ts'
import { logged } from '../support/log.ts'

const ask = (content: string) =>
  JSON.stringify({ model: 'openai/gpt-4.1', max_tokens: 4000, stream: true, messages: user(content) })

const CUT = 'requests were cut, for the server stops'

test('SIGTERM without work ends at once with 0', async () => {
  const duet = await startDuet()
  expect(await duet.stop()).toBe(0)
  expect(logged(duet, 'stopping')).toMatchObject([{ level: 'info', requests: 0, up_to_seconds: 30 }])
  expect(duet.output().trimEnd().split('\n').at(-1)).toContain('"message":"stopped"')
})

test('SIGTERM lets what is under way finish, takes no new work, settles, and ends with 0', async () => {
  const duet = await startDuet()
  const headers = { authorization: `Bearer ${duet.key}` }
  const call = (path: string, content: string) =>
    fetch(duet.url + path, { method: 'POST', headers, body: ask(content) })
  const underWay = call(CHAT, '[[delay 1s]] [[tokens 300]]')
  while ((await duet.admin('GET', '/api/accounts/default')).body.held === '0.00') await Bun.sleep(5)
  const stopped = duet.stop()

  let health = await fetch(`${duet.url}/health/ready`)
  while (health.status === 200) health = await fetch(`${duet.url}/health/ready`)
  expect([health.status, await health.json()]).toEqual([503, { status: 'stopping' }])
  const refused = await call(MESSAGES, 'Hello')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await refused.text()).toContain('"shutting_down"')

  expect(framesOf(await (await underWay).text()).at(-1)?.data).toBe('[DONE]')
  expect(await stopped).toBe(0)
  expect(logged(duet, 'stopping')).toMatchObject([{ requests: 1 }])
  expect(logged(duet, CUT)).toEqual([])
  expect(await fetch(`${duet.base}/models`, { headers }).catch(() => 'refused')).toBe('refused')
  const again = await duet.restart()
  const { body } = await again.admin('GET', '/api/accounts/default')
  expect(body.held).toBe('0.00')
  expect(Number(body.spent)).toBeGreaterThan(0)
  await again.stop()
})

test('streams that outlast the limit are cut with an error frame and settled', async () => {
  const duet = await startDuet({ env: { DUET_DRAIN_SECONDS: '1' } })
  const headers = { authorization: `Bearer ${duet.key}` }
  const open = (path: string) => fetch(duet.url + path, { method: 'POST', headers, body: ask('[[stall]]') })
  const responses = await Promise.all([CHAT, MESSAGES].map(open))
  const stopped = duet.stop()
  const [chat = '', messages = ''] = await Promise.all(responses.map(response => response.text()))

  expect(framesOf(messages)[0]?.event).toBe('message_start')

  const [failed, done] = framesOf(chat).slice(-2)
  expect([failed?.json.error.code, done?.data]).toEqual(['shutting_down', '[DONE]'])
  const last = framesOf(messages).at(-1)
  expect([last?.event, last?.json.error.code]).toEqual(['error', 'shutting_down'])
  expect(await stopped).toBe(0)
  expect(logged(duet, 'stopping')).toMatchObject([{ requests: 2, up_to_seconds: 1 }])
  expect(logged(duet, CUT)).toMatchObject([{ level: 'error', requests: 2 }])
  expect(logged(duet, 'stopped')).toHaveLength(1)

  const again = await duet.restart()
  const { body } = await again.admin('GET', '/api/accounts/default')
  expect(body.held).toBe('0.00')
  expect(Number(body.spent)).toBeGreaterThan(0)
  await again.stop()
})

test('a second SIGTERM is in the log, with what it cuts', async () => {
  const duet = await startDuet()
  const headers = { authorization: `Bearer ${duet.key}` }
  const answer = await fetch(duet.url + CHAT, { method: 'POST', headers, body: ask('[[stall]]') })
  const stopped = duet.stop()
  while (logged(duet, 'stopping').length === 0) await Bun.sleep(5)
  process.kill(duet.pid, 'SIGTERM')
  expect(await answer.text()).toContain('"shutting_down"')
  expect(await stopped).toBe(0)
  const hurried = logged(duet, 'told to stop again: nothing is waited for any longer')
  expect(hurried).toMatchObject([{ level: 'info', requests: 1 }])
  expect(logged(duet, CUT)).toMatchObject([{ requests: 1 }])
  expect(logged(duet, 'stopped')).toHaveLength(1)
})

test('streams have 30 seconds to finish, unless DUET_DRAIN_SECONDS says otherwise', () => {
  expect(readConfig({}).drainSeconds).toBe(30)
  expect(readConfig({ DUET_DRAIN_SECONDS: '0' }).drainSeconds).toBe(0)
  for (const value of ['-1', '1.5', '30s', '86401', 'soon']) {
    expect(() => readConfig({ DUET_DRAIN_SECONDS: value })).toThrow(ConfigError)
  }
})

test('a stopping server says goodbye on every connection, to those who are still sending when they have been heard', async () => {
  const duet = await startDuet()
  const headers = { authorization: `Bearer ${duet.key}` }
  const underWay = fetch(duet.url + CHAT, { method: 'POST', headers, body: ask('[[delay 1s]]') })
  while ((await duet.admin('GET', '/api/accounts/default')).body.held === '0.00') await Bun.sleep(5)
  const idle = await RawConnection.open(duet.url)
  const late = await RawConnection.open(duet.url)
  const large = await RawConnection.open(duet.url)
  const stopped = duet.stop()
  let health = await fetch(`${duet.url}/health/ready`)
  while (health.status === 200) health = await fetch(`${duet.url}/health/ready`)
  expect(health.headers.get('connection')).toBe('close')

  idle.send('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n')
  expect(await idle.ended()).toMatch(/^HTTP\/1\.1 200 .*^connection: close\r\n/ims)

  late.send(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n`)
  await Bun.sleep(20)
  late.send('0123456789')
  expect(await late.ended()).toMatch(/^HTTP\/1\.1 503 .*^connection: close\r\n.*"shutting_down"/ims)

  // Whoever is in the middle of a large body would see the connection break, and never read why.
  large.send(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n${'x'.repeat(900_000)}`)
  expect(await large.until('shutting_down')).not.toMatch(/^connection: close/im)

  await (await underWay).text()
  expect(await stopped).toBe(0)
})

test('SIGTERM to npm start reaches the server', async () => {
  const folder = newFolder()
  const place = { PATH: process.env.PATH ?? '', HOME: folder, DUET_PORT: '0', DUET_DATA: join(folder, 'data') }
  const env = { ...place, ...(await storeEnv(folder)) }
  const npm = Bun.spawn(['npm', 'start'], { cwd: join(import.meta.dir, '../..'), env, stdout: 'pipe', stderr: 'pipe' })
  let printed = ''
  for await (const chunk of npm.stdout) {
    printed += new TextDecoder().decode(chunk)
    if (printed.includes('Base URL')) break
  }
  npm.kill('SIGTERM')
  expect(await npm.exited).toBe(0)
  const url = /Base URL\s+(\S+)/.exec(printed)?.[1] ?? ''
  expect(await fetch(`${url}/models`).catch(() => 'refused')).toBe('refused')
})
