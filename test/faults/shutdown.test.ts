import { expect, test } from 'bun:test'
import { RawConnection } from '../hostile/raw.ts'
import { type Duet, startDuet } from '../support/duet.ts'
import { brokenEnd, eventually, expectError } from '../support/wire.ts'
import { REPORTED, relayed } from './said.ts'
import { pathOf, requestFor, STREAMED, stageConfig, WAYS, type Way, WHOLE } from './support.ts'
import {
  begin,
  expectSettled,
  expectUpstreamLeft,
  type GatedUpstream,
  gatedUpstream,
  type Plan,
  type UnderWay,
} from './underway.ts'

/** SIGTERM, and what becomes of the money of calls that are under way. */

const ENDS_IN_TIME: Plan = {
  name: 'an answer that comes while the server waits for it',
  ways: WAYS,
  says: 'Wait.',
  async hears(listener) {
    const { status, text } = await listener.readAll()
    expect([status, text.includes('"cost"')]).toEqual([200, true])
  },
  bill: () => ({ status: 'ok', ending: 'stop', source: 'upstream', tokens: REPORTED }),
}

const CUT: readonly Plan[] = [
  {
    name: 'a whole answer that the server does not wait for costs nothing',
    ways: WHOLE,
    says: 'Stay.',
    async hears(listener, { client }) {
      expectError(await listener.readAll(), { status: 503, code: 'shutting_down', protocol: client })
    },
    bill: () => ({ status: 'shutting_down', ending: null, source: 'estimated', tokens: {} }),
  },
  {
    name: 'a stream that the server does not wait for costs what was relayed',
    ways: STREAMED,
    says: 'Stay.',
    async hears(listener, { client }) {
      const { text } = await listener.readAll()
      expect(brokenEnd(client, text)?.code).toBe('shutting_down')
    },
    bill: (way, request) => relayed('shutting_down', way, request),
  },
]

test.concurrent('what ends while a stopping server waits is settled like any answer', async () => {
  const upstream = gatedUpstream()
  const duet = await startDuet({ config: stageConfig(upstream.base) })
  const begun = await begin(duet, upstream, [ENDS_IN_TIME])
  const stopped = duet.stop()
  const health = async () => (await fetch(`${duet.url}/health/ready`)).status
  expect(await eventually(health, status => status === 503)).toBe(503)
  upstream.goOn()
  for (const { plan, listener, way } of begun) await plan.hears(listener, way)
  expect(await stopped).toBe(0)
  const again = await duet.restart()
  await expectSettled(again, begun)
  await again.stop()
  await upstream.stop()
}, 20_000)

test.concurrent('what a stopping server has to cut after its time is settled for what was made', async () => {
  const upstream = gatedUpstream()
  const duet = await startDuet({ config: stageConfig(upstream.base), env: { DUET_DRAIN_SECONDS: '1' } })
  const begun = await begin(duet, upstream, CUT)
  await expectCut(begun, { duet, upstream, stopped: duet.stop() })
}, 20_000)

test.concurrent('a second signal ends the waiting: all is cut at once, and settled for what was made', async () => {
  const upstream = gatedUpstream()
  const duet = await startDuet({ config: stageConfig(upstream.base), env: { DUET_DRAIN_SECONDS: '86400' } })
  const begun = await begin(duet, upstream, CUT)
  const stopped = duet.stop()
  await eventually(
    async () => (await fetch(`${duet.url}/health/ready`)).status,
    status => status === 503,
  )
  duet.stop('SIGINT')
  await expectCut(begun, { duet, upstream, stopped })
}, 20_000)

test.concurrent('a server that is told not to wait does not', async () => {
  const upstream = gatedUpstream()
  const duet = await startDuet({ config: stageConfig(upstream.base), env: { DUET_DRAIN_SECONDS: '0' } })
  const begun = await begin(duet, upstream, CUT)
  await expectCut(begun, { duet, upstream, stopped: duet.stop() })
}, 20_000)

test.concurrent('a request that was being sent when the server would wait no longer is not begun', async () => {
  const upstream = gatedUpstream()
  const duet = await startDuet({ config: stageConfig(upstream.base), env: { DUET_DRAIN_SECONDS: '0' } })
  const [way] = STREAMED
  const body = JSON.stringify(requestFor(way as Way, 'Stay.'))
  const connection = await RawConnection.open(duet.url)
  const headers = `host: x\r\nauthorization: Bearer ${duet.key}\r\ncontent-length: ${body.length}`
  connection.send(`POST ${pathOf(way as Way)} HTTP/1.1\r\n${headers}\r\n\r\n${body.slice(0, 20)}`)
  await eventually(
    () => inFlight(duet),
    found => found === 1,
  )
  const stopped = duet.stop()
  await eventually(
    async () => (await fetch(`${duet.url}/health/ready`)).status,
    status => status === 503,
  )
  connection.send(body.slice(20))
  expect(await connection.ended()).toMatch(/^HTTP\/1\.1 503 .*"shutting_down"/s)
  expect(await stopped).toBe(0)
  expect(upstream.requests).toEqual([])
  await upstream.stop()
}, 20_000)

async function inFlight({ url }: Duet): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^duet_inflight_requests (\d+)$/m.exec(text)?.[1])
}

interface Stopping {
  readonly duet: Duet
  readonly upstream: GatedUpstream
  readonly stopped: Promise<number>
}

async function expectCut(begun: readonly UnderWay[], { duet, upstream, stopped }: Stopping): Promise<void> {
  for (const { plan, listener, way } of begun) await plan.hears(listener, way)
  await expectUpstreamLeft(upstream)
  expect(await stopped).toBe(0)
  const again = await duet.restart()
  await expectSettled(again, begun)
  await again.stop()
  await upstream.stop()
}
