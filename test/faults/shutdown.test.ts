import { expect, test } from 'bun:test'
import { startDuet } from '../support/duet.ts'
import { brokenEnd, eventually, expectError } from '../support/wire.ts'
import { REPORTED, relayed } from './said.ts'
import { STREAMED, stageConfig, WAYS, WHOLE } from './support.ts'
import { begin, expectSettled, expectUpstreamLeft, gatedUpstream, type Plan } from './underway.ts'

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

test.concurrent('what a stopping server has to cut after 30 seconds is settled for what was made', async () => {
  const upstream = gatedUpstream()
  const duet = await startDuet({ config: stageConfig(upstream.base) })
  const begun = await begin(duet, upstream, CUT)
  const stopped = duet.stop()
  for (const { plan, listener, way } of begun) await plan.hears(listener, way)
  await expectUpstreamLeft(upstream)
  expect(await stopped).toBe(0)
  const again = await duet.restart()
  await expectSettled(again, begun)
  await again.stop()
  await upstream.stop()
}, 60_000)
