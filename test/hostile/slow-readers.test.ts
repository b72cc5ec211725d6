import { expect, test } from 'bun:test'
import { PAIRS } from '../faults/support.ts'
import { type Duet, startDuet } from '../support/duet.ts'
import { post } from '../support/http.ts'
import { noteSkipped } from '../support/skipped.ts'
import { scriptUpstream } from '../support/upstream.ts'
import { protocolOf } from '../support/vendor.ts'
import { eventually, PATHS } from '../support/wire.ts'
import { memoryOf } from './memory.ts'
import { askFor, beginTorrent, torrent, torrentConfig } from './torrent.ts'

const MB = 1024 * 1024
const ANSWER_BYTES = 200 * MB
const WARM_BYTES = 16 * MB
/** What a reader may cost, however much is there for it to read. */
const READER_BYTES_MAX = 4 * MB
/** How much the memory of a process at rest may differ from one moment to another. */
const NOISE_BYTES = 16 * MB

const BRIEFLY = 'Briefly!'
const AT_LENGTH = 'At length!'

test('a reader who is slower than the upstream holds it back, and costs next to nothing', async () => {
  /** How much the upstream got rid of in each of its long answers. */
  const sent: { bytes: number }[] = []
  const upstream = scriptUpstream(visit => {
    if (visit.text.includes(BRIEFLY)) return torrent(protocolOf(visit), WARM_BYTES)
    const count = { bytes: 0 }
    sent.push(count)
    return torrent(protocolOf(visit), ANSWER_BYTES, count)
  })
  const duet = await startDuet({ config: torrentConfig(upstream.base) })
  // What the code itself takes when it is used for the first time is not theirs.
  for (const pair of PAIRS) {
    const { text } = await post(duet, PATHS[pair.client], askFor({ ...pair, content: BRIEFLY }))
    expect(text.length).toBeGreaterThan(WARM_BYTES / 2)
  }
  const before = memoryOf(duet)

  const asked = [...PAIRS, ...PAIRS, ...PAIRS].map(pair => ({ ...pair, content: AT_LENGTH }))
  const readers = await Promise.all(asked.map(one => beginTorrent(duet.url, one)))
  const sipping = setInterval(() => {
    for (const reader of readers) reader.sip()
  }, 1_000)
  await standstill(sent, readers.length)
  // The systems of both sides have buffers of their own, which are large between programs of one machine.
  expect(Math.max(...sent.map(({ bytes }) => bytes))).toBeLessThan(ANSWER_BYTES / 3)
  await expectMemory(duet, before, readers.length * READER_BYTES_MAX + NOISE_BYTES)

  const had = readers.map(({ received }) => received.length)
  const haveRead = () => readers.every(({ received }, place) => received.length > (had[place] ?? 0))
  expect(await eventually(haveRead, isSo => isSo)).toBe(true)
  expect(readers.map(({ isClosed, received }) => [isClosed, received.slice(0, 12)])).toEqual(
    readers.map(() => [false, 'HTTP/1.1 200']),
  )
  clearInterval(sipping)
  for (const reader of readers) reader.close()
  await expectAllLeft(duet, readers.length)
  expect(await duet.stop()).toBe(0)
  await upstream.stop()
}, 30_000)

/** Until nothing moves any more. */
async function standstill(sent: readonly { bytes: number }[], answers: number): Promise<void> {
  let before = -1
  const look = async () => {
    const now = sent.reduce((sum, { bytes }) => sum + bytes, 0)
    const isStill = sent.length === answers && now === before
    before = now
    await Bun.sleep(200)
    return isStill
  }
  expect(await eventually(look, isStill => isStill, 10_000)).toBe(true)
}

async function expectMemory(duet: Duet, before: number | undefined, moreMax: number): Promise<void> {
  if (before === undefined) return noteSkipped('What slow readers cost was not measured: the system does not tell.')
  const most = before + moreMax
  // What was thrown away on the way there is collected in the course of seconds.
  const taken = await eventually(
    () => memoryOf(duet) ?? 0,
    memory => memory <= most,
    10_000,
  )
  expect(taken).toBeLessThanOrEqual(most)
}

async function expectAllLeft(duet: Duet, readers: number): Promise<void> {
  const rows = await eventually(
    async () => (await duet.admin('GET', '/api/usage?status=client_gone&limit=100')).body.data,
    found => found.length >= readers,
  )
  expect(rows.length).toBe(readers)
  expect((await duet.admin('GET', '/api/accounts/default')).body.held).toBe('0.00')
}
