import { describe, expect, test } from 'bun:test'
import type { JsonBody } from '../../support/duet.ts'
import { call, calls, fn, result, says, text, turnsOf, use, used, useKinds } from './stage.ts'

/** Section 1.2, steps 6 to 8: calls and results of a chat history on their way to a messages upstream. */

const stage = useKinds({
  plain: { protocol: 'messages' },
  seeing: { protocol: 'messages', capabilities: { vision: true } },
  unmended: { protocol: 'messages', capabilities: { repair: false } },
})

type KindName = Parameters<typeof stage.ask>[1]

const Q = says('user', 'q')
const tools = [fn('f')]
const play = async (messages: readonly object[], kind: KindName = 'plain') =>
  (await stage.ask('chat', kind, { messages, tools })).sent
const turns = async (messages: readonly object[], kind: KindName = 'plain'): Promise<JsonBody[]> =>
  turnsOf((await play(messages, kind)).body)

/** The content of a result as one text, however it is written. */
const toldBy = ({ content }: JsonBody) =>
  typeof content === 'string' ? content : content?.map((block: JsonBody) => block.text).join('|')

describe('6: arguments', () => {
  const objects = [
    '{"n":12345678901234567890,"f":1.0,"e":1e400}',
    '{"10":1,"2":2,"a":{"9":0,"1":0}}',
    '{"a":"\\u00e9\\/","a2":"é"}',
    '{ "spaced" : [ 1 , 2 ] }',
  ]
  for (const made of objects) {
    test(`${made} are embedded as they are`, async () => {
      const { text } = await play([Q, calls(call('c1', 'f', made)), result('c1', 'r')])
      expect(text).toContain(`"input":${made}`)
    })
  }

  for (const made of ['', 'null', '{}', '  ']) {
    test(`${JSON.stringify(made)} are no arguments`, async () => {
      const [, told] = await turns([Q, calls(call('c1', 'f', made)), result('c1', 'r')])
      expect(told?.content).toEqual([use('c1')])
    })
  }

  for (const made of ['[1,2]', '3', '"x"', '{"a":', 'not JSON', '{"a":1} {"b":2}']) {
    test(`${made} survive as a text`, async () => {
      const [, told] = await turns([Q, calls(call('c1', 'f', made)), result('c1', 'r')])
      expect(told?.content).toEqual([use('c1', 'f', { raw_arguments: made })])
    })
  }
})

describe('7: results', () => {
  test('come first in one message, in the order of the calls, whatever stands between them', async () => {
    const told = await turns([
      Q,
      calls(call('a'), call('b'), call('c')),
      result('c', 'C'),
      says('user', 'meanwhile'),
      result('a', 'A'),
      says('user', 'and'),
      result('b', 'B'),
      says('user', 'next'),
    ])
    expect(told.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
    const content = told[2].content
    expect(content.slice(0, 3).map((block: JsonBody) => [block.tool_use_id, toldBy(block)])).toEqual([
      ['a', 'A'],
      ['b', 'B'],
      ['c', 'C'],
    ])
    expect(content.slice(3)).toEqual([text('meanwhile'), text('and'), text('next')])
  })

  test('of parts are blocks', async () => {
    const parts = [text('one'), { type: 'image_url', image_url: { url: 'https://pics.example/a.png' } }, text('two')]
    const [, , told] = await turns([Q, calls(call('a')), result('a', parts)], 'seeing')
    expect(told.content[0].content).toEqual([
      text('one'),
      { type: 'image', source: { type: 'url', url: 'https://pics.example/a.png' } },
      text('two'),
    ])
  })

  for (const content of ['', [], [text('')], null]) {
    test(`of ${JSON.stringify(content)} have no content`, async () => {
      const [, , told] = await turns([Q, calls(call('a')), result('a', content)])
      expect(told.content).toEqual([used('a')])
    })
  }

  test('are errors only where they say so', async () => {
    const [, , told] = await turns([
      Q,
      calls(call('a'), call('b')),
      result('a', '{"error":"no such file"}'),
      result('b', 'x', { is_error: true }),
    ])
    expect(told.content.map(({ is_error }: JsonBody) => is_error ?? false)).toEqual([false, true])
  })
})

describe('8: a history with holes', () => {
  test('a result that nobody called for is a text of the user', async () => {
    const told = await turns([Q, says('assistant', 'a'), result('zzz', 'LOST'), says('user', 'r')])
    expect(JSON.stringify(told)).not.toContain('tool_result')
    expect(JSON.stringify(told[2])).toContain('LOST')
  })

  test('a call that nobody answered gets an answer that is an error', async () => {
    const told = await turns([Q, calls(call('a'), call('b')), result('b', 'B'), says('user', 'r')])
    const [first, second, third] = told[2].content
    expect(first).toMatchObject({ type: 'tool_result', tool_use_id: 'a', is_error: true })
    expect([second.tool_use_id, toldBy(second)]).toEqual(['b', 'B'])
    expect(third).toEqual(text('r'))
  })

  test('a call at the very end gets one, too', async () => {
    const told = await turns([Q, calls(call('a'))])
    expect(told.at(-1)).toMatchObject({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'a', is_error: true }],
    })
  })

  test('ids that are not legal are made so on both sides alike', async () => {
    const [, made, told] = await turns([
      Q,
      calls(call('call:1|ü'), call('fine_1')),
      result('call:1|ü', 'A'),
      result('fine_1', 'B'),
    ])
    const digest = new Bun.CryptoHasher('sha256').update('call:1|ü').digest('hex').slice(0, 8)
    const [first, second] = made.content.map(({ id }: JsonBody) => id)
    expect(first).toMatch(new RegExp(`^[A-Za-z0-9_-]+_${digest}$`))
    expect(second).toBe('fine_1')
    expect(told.content.map((block: JsonBody) => [block.tool_use_id, toldBy(block)])).toEqual([
      [first, 'A'],
      ['fine_1', 'B'],
    ])
  })

  test('an id that comes again in a later turn is another', async () => {
    const round = (answer: string) => [calls(call('a')), result('a', answer)]
    const told = await turns([Q, ...round('1'), ...round('2'), says('user', 'r'), ...round('3')])
    const made = told.flatMap(({ content }) => content.filter(({ type }: JsonBody) => type === 'tool_use'))
    const answered = told.flatMap(({ content }) => content.filter(({ type }: JsonBody) => type === 'tool_result'))
    const ids = made.map(({ id }) => id)
    expect(new Set(ids).size).toBe(3)
    expect(ids[0]).toBe('a')
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]+$/)
    expect(answered.map(block => [block.tool_use_id, toldBy(block)])).toEqual(
      ids.map((id, place) => [id, String(place + 1)]),
    )
  })

  test('a second result of one call is a text of the user', async () => {
    const told = await turns([Q, calls(call('a')), result('a', '1'), result('a', 'AGAIN'), says('user', 'r')])
    expect(told[2].content.filter(({ type }: JsonBody) => type === 'tool_result')).toHaveLength(1)
    expect(JSON.stringify(told[2].content.slice(1))).toContain('AGAIN')
  })

  test('an id that comes twice in one turn is two', async () => {
    const [, made, told] = await turns([Q, calls(call('a'), call('a')), result('a', '1'), result('a', '2')])
    const ids = made.content.map(({ id }: JsonBody) => id)
    expect(new Set(ids).size).toBe(2)
    expect(told.content.map((block: JsonBody) => [block.tool_use_id, toldBy(block)])).toEqual([
      [ids[0], '1'],
      [ids[1], '2'],
    ])
  })

  test('is sent with its holes where the operator wants that', async () => {
    const told = await turns([Q, calls(call('a'), call('b')), result('b', 'B'), says('user', 'r')], 'unmended')
    expect(JSON.stringify(told)).not.toContain('is_error')
  })
})
