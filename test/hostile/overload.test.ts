import { expect, test } from 'bun:test'
import { readConfig } from '../../src/config/config.ts'
import { REPORTED } from '../faults/said.ts'
import { sendAtOnce } from '../faults/sockets.ts'
import { stageConfig, WAYS } from '../faults/support.ts'
import { begin, expectSettled, gatedUpstream, type Plan } from '../faults/underway.ts'
import { type Duet, failToStart, startDuet } from '../support/duet.ts'
import { CHAT, MESSAGES, post, send, user } from '../support/http.ts'
import { eventually, expectError } from '../support/wire.ts'
import { RawConnection } from './raw.ts'

/** More requests than Duet takes at once: those one too many, and those that were there before. */

const UNDER_WAY: Plan = {
  name: 'a call that was under way when too many came',
  ways: WAYS,
  says: 'Wait.',
  async hears(listener) {
    const { status, text } = await listener.readAll()
    expect([status, text.includes('"cost"')]).toEqual([200, true])
  },
  bill: () => ({ status: 'ok', ending: 'stop', source: 'upstream', tokens: REPORTED }),
}

const BURST = 400

test('one request too many is turned away at the door, and those inside are served and billed like any', async () => {
  const upstream = gatedUpstream()
  const env = { DUET_MAX_IN_FLIGHT: String(WAYS.length) }
  const duet = await startDuet({ config: stageConfig(upstream.base), env })
  const begun = await begin(duet, upstream, [UNDER_WAY])
  expect(await inFlight(duet)).toBe(WAYS.length)

  await expectTurnedAway(duet)
  await expectHeardInTheMiddleOfItsBody(duet)
  for (const path of ['/health/live', '/health/ready', '/v1/models', '/v1/models/acme/chat']) {
    expect([path, (await send(duet, path)).status]).toEqual([path, 200])
  }
  expect((await duet.admin('GET', '/api/accounts')).status).toBe(200)
  expect(await inFlight(duet)).toBe(WAYS.length)

  upstream.goOn()
  for (const { plan, listener, way } of begun) await plan.hears(listener, way)
  await expectSettled(duet, begun)
  await eventually(
    () => inFlight(duet),
    left => left === 0,
  )
  expect(await inFlight(duet)).toBe(0)
  expect((await post(duet, CHAT, request)).status).toBe(200)
  const refused = (await send(duet, '/metrics')).text
  expect(refused).toContain(`duet_requests_total{protocol="chat",status="503",code="overloaded"} ${BURST / 2 + 2}`)
  expect(await duet.stop()).toBe(0)
  await upstream.stop()
}, 30_000)

test('those who leave, are refused or come to nothing make room again', async () => {
  const upstream = gatedUpstream()
  const duet = await startDuet({ config: stageConfig(upstream.base), env: { DUET_MAX_IN_FLIGHT: '1' } })
  const refusals: [status: number, ask: () => Promise<{ status: number }>][] = [
    [401, () => post(duet, CHAT, request, { key: 'nobody' })],
    [400, () => post(duet, MESSAGES, 'no JSON')],
    [503, () => post(duet, CHAT, { ...request, model: 'acme/none' })],
    [502, () => post(duet, CHAT, { ...request, messages: user('Fail.') })],
  ]
  upstream.goOn()
  for (const [status, ask] of refusals) expect((await ask()).status).toBe(status)

  const leaving = new AbortController()
  const stays = { ...request, stream: true, messages: user('Stay.') }
  const headers = { authorization: `Bearer ${duet.key}` }
  const init = { method: 'POST', headers, body: JSON.stringify(stays), signal: leaving.signal }
  const response = await fetch(duet.url + CHAT, init)
  await response.body?.getReader().read()
  expectError(await post(duet, CHAT, request), { status: 503, code: 'overloaded' })
  leaving.abort()
  const served = await eventually(
    () => post(duet, CHAT, request),
    ({ status }) => status === 200,
  )
  expect(served.status).toBe(200)
  expect(await duet.stop()).toBe(0)
  await upstream.stop()
})

test('DUET_MAX_IN_FLIGHT is 2000 unless it says otherwise, and a faulty one is listed with the other faults', async () => {
  expect(readConfig({}).maxInFlight).toBe(2000)
  expect(readConfig({ DUET_MAX_IN_FLIGHT: '1' }).maxInFlight).toBe(1)
  const { code, output } = await failToStart({ env: { DUET_MAX_IN_FLIGHT: '0', DUET_DRAIN_SECONDS: 'soon' } })
  expect(code).toBe(1)
  expect(output).toContain('DUET_MAX_IN_FLIGHT: must be a whole number from 1 to 1000000, not "0"')
  expect(output).toContain('DUET_DRAIN_SECONDS: must be a whole number from 0 to 86400, not "soon"')
})

const request = { model: 'acme/chat', max_tokens: 50, messages: user('Hello') }

/** Neither who asks nor what for is looked at: nobody here has a key, and half of the bodies are no JSON. */
async function expectTurnedAway(duet: Duet): Promise<void> {
  const burst = Array.from({ length: BURST }, (_, place) => ({
    path: place % 2 ? CHAT : MESSAGES,
    key: 'nobody',
    body: place % 4 < 2 ? request : 'no request',
  }))
  const answers = await Promise.all(await sendAtOnce(duet.url, burst))
  const codes = answers.map(({ status, text }) => `${status} ${JSON.parse(text).error.code}`)
  expect(new Map(codes.map(code => [code, codes.filter(other => other === code).length]))).toEqual(
    new Map([['503 overloaded', BURST]]),
  )
  const answer = await post(duet, MESSAGES, request)
  expectError(answer, { status: 503, code: 'overloaded', type: 'duet_api_error', protocol: 'messages' })
  expect(answer.headers.get('retry-after')).toBe('1')
}

/** The answer comes before the body has; what comes of it later is thrown away, and the connection goes on. */
async function expectHeardInTheMiddleOfItsBody(duet: Duet): Promise<void> {
  const [first, second] = ['x'.repeat(500_000), 'y'.repeat(500_000)]
  const framings = [
    ['content-length: 1000000', first, second],
    ['transfer-encoding: chunked', `7a120\r\n${first}\r\n`, `7a120\r\n${second}\r\n0\r\n\r\n`],
  ] as const
  for (const [framing, begin, end] of framings) {
    const connection = await RawConnection.open(duet.url)
    connection.send(`POST ${CHAT} HTTP/1.1\r\nhost: x\r\n${framing}\r\n\r\n${begin}`)
    expect(await connection.until('"overloaded"')).toStartWith('HTTP/1.1 503 ')
    connection.send(`${end}GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n`)
    expect(await connection.until('{"status":"ok"}')).toContain('HTTP/1.1 200 ')
    connection.close()
  }
}

async function inFlight(duet: Duet): Promise<number> {
  const { text } = await send(duet, '/metrics', { key: null })
  return Number(/^duet_inflight_requests (\d+)$/m.exec(text)?.[1])
}
