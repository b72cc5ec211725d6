import { describe, expect, test } from 'bun:test'
import type { JsonBody } from '../../support/duet.ts'
import { blocksOf, says, text, use, used, useKinds } from '../rules/stage.ts'

/** Ids of calls on their way to a like messages upstream, which wants each of them once and in plain letters. */

const stage = useKinds({
  messages: { protocol: 'messages' },
  unmended: { protocol: 'messages', capabilities: { repair: false } },
})

type KindName = Parameters<typeof stage.ask>[1]

interface Told {
  readonly calls: readonly JsonBody[]
  readonly results: readonly JsonBody[]
}

/** What reached the upstream of calls and results. */
async function told(messages: readonly object[], kind: KindName = 'messages'): Promise<Told> {
  const { sent } = await stage.ask('messages', kind, { messages })
  const blocks: JsonBody[] = sent.body.messages.flatMap(blocksOf)
  return {
    calls: blocks.filter(({ type }) => type === 'tool_use'),
    results: blocks.filter(({ type }) => type === 'tool_result'),
  }
}

/** Every call under an id of its own, and every result says whose it is. */
function expectMatched({ calls, results }: Told, saying: Readonly<Record<string, unknown>>): void {
  const ids: string[] = calls.map(({ id }) => id)
  expect(new Set(ids).size).toBe(calls.length)
  for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]+$/)
  const answers = calls.map(({ id, name }) => [name, results.filter(({ tool_use_id: of }) => of === id)])
  expect(answers).toEqual(
    Object.entries(saying).map(([name, content]) => [name, [expect.objectContaining({ content })]]),
  )
  expect(results).toHaveLength(calls.length)
}

const MISSING = expect.stringMatching(/no result/i)

describe('an id that stands for two calls is told apart', () => {
  test('in two turns', async () => {
    const messages = [
      says('user', 'q'),
      says('assistant', [use('t1', 'f')]),
      says('user', [used('t1', 'one')]),
      says('assistant', [use('t1', 'g')]),
      says('user', [used('t1', 'two')]),
    ]
    expectMatched(await told(messages), { f: 'one', g: 'two' })
  })

  test('in two turns, of which the first has no result', async () => {
    const messages = [
      says('user', 'q'),
      says('assistant', [use('t1', 'f')]),
      says('user', 'never mind'),
      says('assistant', [use('t1', 'g')]),
      says('user', [used('t1', 'two')]),
    ]
    expectMatched(await told(messages), { f: MISSING, g: 'two' })
  })

  test('in one turn', async () => {
    const messages = [
      says('user', 'q'),
      says('assistant', [use('t1', 'f'), use('t1', 'g')]),
      says('user', [used('t1', 'one'), used('t1', 'two'), text('go on')]),
    ]
    expectMatched(await told(messages), { f: 'one', g: 'two' })
  })
})

describe('illegal ids are made legal, the same on both sides', () => {
  const messages = [
    says('user', 'q'),
    says('assistant', [use('call:1/é', 'f'), use('call:1/è', 'g')]),
    says('user', [used('call:1/è', 'two'), used('call:1/é', 'one')]),
    says('assistant', [use('call:1/é', 'h')]),
    says('user', [used('call:1/é', 'three')]),
  ]
  for (const kind of ['messages', 'unmended'] as const) {
    test(kind, async () => expectMatched(await told(messages, kind), { f: 'one', g: 'two', h: 'three' }))
  }

  test('also of a result that answers nothing, where it is passed on', async () => {
    const { results } = await told([says('user', [used('call:1/é', 'one')])], 'unmended')
    expect(results).toMatchObject([{ tool_use_id: expect.stringMatching(/^[A-Za-z0-9_-]+$/), content: 'one' }])
  })
})
