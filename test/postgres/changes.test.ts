import { expect, test } from 'bun:test'
import { ask } from '../../src/store/database.ts'
import { eventually } from '../support/wire.ts'
import { Books, closeAfterEach } from './books.ts'

closeAfterEach()

/** What replicas are told of: real changes of what they keep in memory, and nothing else. */

const books = () => Books.open({ accounts: ['ann'], keys: 2, balance: 1_000n })

/** Which topics a statement tells. */
async function told({ tables }: Books, work: () => Promise<unknown>): Promise<string[]> {
  const versions = () => tables.all<{ topic: string; version: bigint }>('SELECT topic, version FROM changes ORDER BY 1')
  const before = await versions()
  await work()
  const after = await versions()
  return after.filter(({ version }, place) => version !== before[place]?.version).map(({ topic }) => topic)
}

test('what changes nothing tells nothing', async () => {
  const scene = await books()
  const { tables, store } = scene
  const { directory } = store
  await directory.changeKey('ann-1', { maxPerMinute: 3 })
  await tables.run(`INSERT INTO models VALUES ('acme/swift', '{}', 0)`)
  for (const silent of [
    () => directory.revokeKey('nobody', 1),
    () => directory.changeKey('nobody', { enabled: false }),
    () => directory.changeKey('ann-1', { maxPerMinute: 3, enabled: true }),
    () => directory.changeKey('ann-1', { name: 'new' }),
    () => directory.keepPlaygroundKeys('ann', 3, 1),
    () => store.ledger.commit([scene.hold('a', 'ann-1', { most: 1n })]),
    () => tables.run('UPDATE accounts SET grp = grp'),
    () => tables.run('DELETE FROM channels'),
    () => tables.run(`UPDATE models SET settings = settings`),
  ]) {
    expect(await told(scene, silent)).toEqual([])
  }
})

test('what changes something tells it, whoever does it', async () => {
  const scene = await books()
  const { tables, store } = scene
  const ofKeys = [
    () => store.directory.changeKey('ann-1', { models: ['acme/swift'] }),
    () => store.directory.changeKey('ann-1', { models: undefined }),
    () => store.directory.revokeKey('ann-1', 1),
    () => tables.run(`UPDATE accounts SET grp = 'other'`),
    () => tables.run(`DELETE FROM keys WHERE id = 'ann-2'`),
  ]
  const ofTheCatalog = [
    () => tables.run(`INSERT INTO channels VALUES ('main', '{}', 0)`),
    () => tables.run(`UPDATE channels SET settings = '{"a":1}'`),
    () => tables.run(`INSERT INTO channel_keys VALUES ('main', 'one', 'hint', 'sealed', 0)`),
    () => tables.run('DELETE FROM channel_keys'),
    () => tables.run(`INSERT INTO pauses VALUES ('main', '', 0)`),
    () => tables.run(`INSERT INTO models VALUES ('acme/swift', '{}', 0)`),
    () => tables.run(`UPDATE models SET settings = '{"a":1}'`),
  ]
  for (const loud of ofKeys) expect(await told(scene, loud)).toEqual(['keys'])
  for (const loud of ofTheCatalog) expect(await told(scene, loud)).toEqual(['catalog'])
})

test('what belongs together is told once', async () => {
  const { tables } = await books()
  const heard: string[] = []
  const end = await tables.listen(
    'duet_changes',
    topic => heard.push(topic),
    () => {},
  )
  await tables.transaction(function* () {
    yield* ask.run('UPDATE keys SET max_concurrent = 7')
    yield* ask.run(`UPDATE accounts SET grp = 'other'`)
    yield* ask.run('UPDATE keys SET max_concurrent = 8')
  })
  await tables.run(`SELECT pg_notify('duet_changes', 'the end')`)
  await eventually(
    () => heard,
    () => heard.includes('the end'),
  )
  expect(heard).toEqual(['keys', 'the end'])
  end()
})
