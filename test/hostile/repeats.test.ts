import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { answersLate, expectFirst, NamedScene, namedUpstream } from '../faults/named-scene.ts'
import { ANSWER, framesWith } from '../faults/said.ts'
import { pathOf, refusedIn, STREAMED, settledBooks, stageConfig, type Way, WHOLE } from '../faults/support.ts'
import { bodyOf } from '../pairs/wire.ts'
import { type Duet, startDuet } from '../support/duet.ts'
import { eventStream, type ScriptedUpstream } from '../support/upstream.ts'
import { protocolOf } from '../support/vendor.ts'
import { type Caller, eventually, expectError, newCaller } from '../support/wire.ts'
import { memoryOf } from './memory.ts'
import { RawConnection } from './raw.ts'

/** Callers who ask for the same answer over and over, and those who do not wait for it. */

const MB = 1024 * 1024
/** More than the sockets of a connection hold, less than what is too much to be kept. */
const PIECE = 'x'.repeat(64 * 1024)
const PIECES = 115
const ANSWER_BYTES = PIECE.length * PIECES
const RICH = { balance: '1000' }

const [SOME_WHOLE] = WHOLE as [Way, ...Way[]]
const [SOME_STREAM] = STREAMED as [Way, ...Way[]]

let upstream: ScriptedUpstream
let duet: Duet
beforeAll(async () => {
  upstream = namedUpstream()
  duet = await startDuet({ config: stageConfig(upstream.base, ', max_output_tokens: 100000000') })
})
afterAll(async () => {
  await duet.stop()
  await upstream.stop()
})

const largeScene = (way: Way): NamedScene =>
  new NamedScene(way, visit => {
    const protocol = protocolOf(visit)
    const pieces = Array.from({ length: PIECES }, () => PIECE)
    return visit.body.stream
      ? eventStream(framesWith(protocol, pieces, ANSWER.usage))
      : new Response(bodyOf(protocol, { ...ANSWER, text: pieces.join('') }))
  })

async function madeBefore(scene: NamedScene, caller: Caller): Promise<NamedScene> {
  const first = await scene.ask(duet, caller).readAll()
  expectFirst(first)
  expect(first.text.length).toBeGreaterThan(ANSWER_BYTES)
  return scene
}

const unread: RawConnection[] = []
const closeAll = () => {
  for (const connection of unread.splice(0)) connection.close()
}
afterEach(closeAll)

/** Asks and reads nothing, not even headers: a connection that is read from is soon given room for a whole answer. */
async function askUnread({ way, request, name }: NamedScene, { key }: Caller): Promise<void> {
  const connection = await RawConnection.open(duet.url)
  unread.push(connection)
  connection.stopReading()
  const body = JSON.stringify(request)
  const headers = [`authorization: Bearer ${key}`, `idempotency-key: ${name}`, `content-length: ${body.length}`]
  connection.send(`POST ${pathOf(way)} HTTP/1.1\r\nhost: x\r\n${headers.join('\r\n')}\r\n\r\n${body}`)
}

async function expectInFlight({ url }: Duet, wanted: number): Promise<void> {
  const inFlight = async () => {
    const text = await (await fetch(`${url}/metrics`)).text()
    return Number(/^duet_inflight_requests (\d+)$/m.exec(text)?.[1])
  }
  expect(await eventually(inFlight, found => found === wanted)).toBe(wanted)
}

describe('repeats that nobody reads are under way, have one copy between them, and are gone with their connections', () => {
  for (const way of [SOME_WHOLE, SOME_STREAM]) {
    test(way.stream ? 'streamed' : 'whole', async () => {
      const caller = await newCaller(duet, RICH)
      const scene = await madeBefore(largeScene(way), caller)
      const before = memoryOf(duet)
      for (let count = 0; count < 80; count++) await askUnread(scene, caller)
      await expectInFlight(duet, 80)
      const after = memoryOf(duet)
      if (before !== undefined && after !== undefined) expect(after - before).toBeLessThan(25 * ANSWER_BYTES)
      closeAll()
      await expectInFlight(duet, 0)
      expect(scene.visits).toHaveLength(1)
    })
  }

  test('a key has so many of them at once as it may have requests', async () => {
    const caller = await newCaller(duet, { ...RICH, max_concurrent: 2 })
    for (const way of [SOME_WHOLE, SOME_STREAM]) {
      const scene = await madeBefore(largeScene(way), caller)
      await expectInFlight(duet, 0)
      for (let count = 0; count < 2; count++) await askUnread(scene, caller)
      await expectInFlight(duet, 2)
      expectError(await scene.ask(duet, caller).readAll(), { status: 429, code: 'rate_limited' })
      closeAll()
      await expectInFlight(duet, 0)
      expect(scene.visits).toHaveLength(1)
    }
  })
})

test('a key that reads none of its many answers is told so, and keeps nobody else from theirs', async () => {
  const [greedy, modest] = [await newCaller(duet, RICH), await newCaller(duet, RICH)]
  const scenes: NamedScene[] = []
  // Half of the 64 MiB for all, and one more.
  while (scenes.length * ANSWER_BYTES < 32 * MB) scenes.push(await madeBefore(largeScene(SOME_STREAM), greedy))
  const [last, ...held] = scenes.reverse() as [NamedScene, ...NamedScene[]]
  for (const scene of held) await askUnread(scene, greedy)
  await expectInFlight(duet, held.length)

  const refused = await last.ask(duet, greedy).readAll()
  const message = /^Too many stored answers are being read to read another one; this one is still kept/
  expectError(refused, { status: 503, code: 'overloaded', message })
  expect(refused.headers.get('retry-after')).toBe('1')
  const { rows } = await eventually(
    () => settledBooks(duet, greedy.account, scenes.length),
    books => refusedIn(books).length > 0,
  )
  expect(rows.filter(({ status }) => status === 'overloaded')).toHaveLength(1)

  const scene = await madeBefore(largeScene(SOME_STREAM), modest)
  const { headers, text } = await scene.ask(duet, modest).readAll()
  expect([headers.has('x-duet-replay-of'), text.length > ANSWER_BYTES]).toEqual([true, true])

  closeAll()
  const given = await eventually(
    () => last.ask(duet, greedy).readAll(),
    ({ status }) => status === 200,
  )
  expect([given.status, last.visits.length]).toEqual([200, 1])
})

test('calls that go on for callers who did not wait, or left, have their places at the door', async () => {
  const env = { DUET_MAX_IN_FLIGHT: '3' }
  const own = await startDuet({ config: stageConfig(upstream.base), env })
  const caller = await newCaller(own)
  const newScene = () => new NamedScene(SOME_WHOLE, answersLate)
  const [impatient, leaving, attached] = [newScene(), newScene(), newScene()]
  const headers = { 'x-stainless-timeout': '0.05' }
  for (const scene of [impatient, attached]) {
    expectError(await scene.ask(own, caller, { headers }).readAll(), { status: 504, code: 'upstream_timeout' })
  }
  const left = leaving.ask(own, caller)
  await eventually(
    () => leaving.visits.length,
    visits => visits === 1,
  )
  left.leave()
  // For the server to notice.
  await Bun.sleep(50)
  await expectInFlight(own, 3)
  expectError(await newScene().ask(own, caller).readAll(), { status: 503, code: 'overloaded', message: /under way/ })
  for (const scene of [impatient, leaving, attached]) scene.goOn()
  await expectInFlight(own, 0)
  const repeat = await attached.ask(own, caller).readAll()
  expect([repeat.status, repeat.headers.has('x-duet-replay-of'), attached.visits.length]).toEqual([200, true, 1])
  expect(await own.stop()).toBe(0)
})

test('whoever waits for a call of another and leaves has left', async () => {
  const caller = await newCaller(duet)
  const scene = new NamedScene(SOME_WHOLE, answersLate)
  const first = scene.ask(duet, caller)
  const waiting = Array.from({ length: 5 }, () => scene.ask(duet, caller))
  await expectInFlight(duet, 6)
  for (const listener of waiting) listener.leave()
  await expectInFlight(duet, 1)
  scene.goOn()
  expect((await first.readAll()).status).toBe(200)
  await expectInFlight(duet, 0)
})
