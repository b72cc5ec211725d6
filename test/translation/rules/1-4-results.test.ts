import { describe, expect, test } from 'bun:test'
import type { JsonBody } from '../../support/duet.ts'
import { png, says, shown, text, tool, used, useKinds, uses } from './stage.ts'

/** Section 1.4, steps 4, 5 and 8: results of a messages history on their way to a chat upstream. */

const stage = useKinds({
  plain: { protocol: 'chat' },
  blind: { protocol: 'chat', model: { images: 'forward' }, capabilities: { vision: false } },
  seeing: { protocol: 'chat', capabilities: { vision: true } },
  arrays: { protocol: 'chat', capabilities: { content_array_in_tool: true } },
})

type KindName = Parameters<typeof stage.ask>[1]

const tools = [{ name: 'f', input_schema: { type: 'object' } }]
const ask = (messages: readonly object[], kind: KindName = 'plain') => stage.ask('messages', kind, { messages, tools })
const sent = async (messages: readonly object[], kind: KindName = 'plain'): Promise<JsonBody[]> =>
  (await ask(messages, kind)).sent.body.messages

const Q = says('user', 'q')

describe('4: results come before what else the user says', () => {
  const rows = [
    ['behind them', [used('t1', 'A'), used('t2', 'B'), text('x'), text('y')]],
    ['before them', [text('x'), text('y'), used('t1', 'A'), used('t2', 'B')]],
    ['between them', [text('x'), used('t1', 'A'), text('y'), used('t2', 'B')]],
  ] as const
  for (const [where, content] of rows) {
    test(`texts ${where}`, async () => {
      expect((await sent([Q, uses('t1', 't2'), says('user', content)])).slice(2)).toEqual([
        tool('t1', 'A'),
        tool('t2', 'B'),
        says('user', 'x\n\ny'),
      ])
    })
  }
})

describe('5: a result', () => {
  const told = async (block: object, kind: KindName = 'plain') =>
    (await sent([Q, uses('t1'), says('user', [block])], kind)).slice(2)
  const document = { type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'body' } }
  const found = { type: 'search_result', source: 'https://s.example', title: 'R', content: [text('found')] }
  const rows = [
    ['a text', used('t1', 'r'), 'r'],
    ['several texts', used('t1', [text('a'), text('b')]), 'a\nb'],
    ['nothing', used('t1'), ''],
    ['an empty list', used('t1', []), ''],
    ['an empty text', used('t1', ''), ''],
    ['an error', used('t1', 'no file', { is_error: true }), 'Error: no file'],
    ['an error that says so', used('t1', 'Error: no file', { is_error: true }), 'Error: no file'],
    ['no error', used('t1', 'fine', { is_error: false }), 'fine'],
    ['a loaded tool', used('t1', [{ type: 'tool_reference', tool_name: 'Grep' }]), '[tool loaded: Grep]'],
  ] as const
  for (const [what, block, wanted] of rows) {
    test(`of ${what} is ${JSON.stringify(wanted)}`, async () => {
      expect(await told(block)).toEqual([tool('t1', wanted)])
    })
  }

  test('says where an image was that the upstream cannot see', async () => {
    expect(await told(used('t1', [text('a'), png]), 'blind')).toEqual([tool('t1', 'a\n[image omitted]')])
    expect(await told(used('t1', [png]), 'blind')).toEqual([tool('t1', '[image omitted]')])
  })

  test('of an image alone that nobody looks at keeps its message', async () => {
    expect(await told(used('t1', [png]))).toEqual([tool('t1', expect.stringMatching(/^(\[image omitted\])?$/))])
  })

  test('of documents and findings is text', async () => {
    const [message] = await told(used('t1', [document, found]))
    expect(message.content).toMatch(/body[\s\S]*found/)
  })

  test('never holds the bytes of an image', async () => {
    const played = await ask([Q, uses('t1'), says('user', [used('t1', [png])])])
    expect(played.sent.text).not.toContain('AAAA')
    expect(played.dropped).toEqual(['image'])
  })

  test('shows its images behind the last result where they are seen', async () => {
    const messages = await sent(
      [Q, uses('t1', 't2'), says('user', [used('t1', [text('a'), png]), used('t2', 'B'), text('so?')])],
      'seeing',
    )
    expect(messages.slice(2, 4).map(({ role, tool_call_id }) => [role, tool_call_id])).toEqual([
      ['tool', 't1'],
      ['tool', 't2'],
    ])
    for (const { content } of messages.slice(2, 4)) expect(content).toBeString()
    const after = messages.slice(4)
    expect(after[0]).toMatchObject({ role: 'user' })
    expect(after[0].content.slice(0, 2)).toEqual([text('[Images returned by tool call t1]'), shown])
    expect(after.map(({ role }) => role)).not.toContain('tool')
    expect(JSON.stringify(after)).toContain('so?')
  })

  test('is a list where the upstream takes one', async () => {
    expect(await told(used('t1', [text('a'), text('b')]), 'arrays')).toEqual([tool('t1', [text('a'), text('b')])])
  })
})

test('8: ids of more than 40 letters are cut on both sides alike', async () => {
  const long = `toolu_${'x'.repeat(50)}`
  const messages = await sent([
    Q,
    uses(long, `${long}y`, 'x'.repeat(40)),
    says('user', [used(long, 'A'), used(`${long}y`, 'B'), used('x'.repeat(40), 'C')]),
  ])
  const ids = messages[1].tool_calls.map(({ id }: JsonBody) => id)
  expect(ids[0]).toMatch(new RegExp(`^${long.slice(0, 31)}_[0-9a-f]{8}$`))
  expect(ids[1]).not.toBe(ids[0])
  expect(ids[2]).toBe('x'.repeat(40))
  expect(messages.slice(2)).toEqual([tool(ids[0], 'A'), tool(ids[1], 'B'), tool(ids[2], 'C')])
})
