import { describe, expect, test } from 'bun:test'
import { call, calls, fn, result, says, text, turnsOf, use, useKinds } from './stage.ts'

/** Section 1.2, steps 5 and 9 to 13: what the assistant said, and the shape of the whole. Calls have a file of their own. */

const stage = useKinds({
  plain: { protocol: 'messages' },
  prefill: { protocol: 'messages', capabilities: { prefill: true } },
  thinking: { protocol: 'messages', model: { reasoning: true, max_output_tokens: 20_000 } },
})

type KindName = Parameters<typeof stage.ask>[1]

const ask = (messages: readonly object[], kind: KindName = 'plain', more: object = {}) =>
  stage.ask('chat', kind, { messages, ...more })
const sent = async (messages: readonly object[], kind: KindName = 'plain', more: object = {}) =>
  (await ask(messages, kind, more)).sent.body
const turns = async (messages: readonly object[], kind: KindName = 'plain') => turnsOf(await sent(messages, kind))

const Q = says('user', 'q')
const asked = { role: 'user', content: [text('q')] }

describe('5: what the assistant said', () => {
  const tools = [fn('f')]
  const told = async (message: object, kind: KindName = 'plain') =>
    turnsOf(await sent([Q, message, result('c1', 'r')], kind, { tools }))[1].content

  test('text comes before calls', async () => {
    expect(await told(says('assistant', 'hm', { tool_calls: [call('c1')] }))).toEqual([text('hm'), use('c1')])
  })

  test('texts and refusals are text', async () => {
    const content = [text('a'), { type: 'refusal', refusal: 'no' }]
    expect(await told({ ...calls(call('c1')), content })).toEqual([text('a'), text('no'), use('c1')])
  })

  for (const content of [null, '', undefined]) {
    test(`${JSON.stringify(content)} beside a call is nothing`, async () => {
      expect(await told({ ...calls(call('c1')), content })).toEqual([use('c1')])
    })
  }

  test('reasoning without a signature is not a thought', async () => {
    for (const kind of ['plain', 'thinking'] as const) {
      const content = await told(says('assistant', 'a', { reasoning_content: 'hm', tool_calls: [call('c1')] }), kind)
      expect(content).toEqual([text('a'), use('c1')])
    }
  })

  test('signed reasoning is a thought again, and comes first', async () => {
    const reasoning_details = [
      { type: 'reasoning.text', text: 'hm', signature: 'c2ln' },
      { type: 'reasoning.encrypted', data: 'b3BhcXVl' },
    ]
    const content = await told(says('assistant', 'a', { reasoning_details, tool_calls: [call('c1')] }), 'thinking')
    expect(content).toEqual([
      { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
      { type: 'redacted_thinking', data: 'b3BhcXVl' },
      text('a'),
      use('c1'),
    ])
  })
})

describe('9 to 13: the shape of the whole', () => {
  test('messages of one role become one, their blocks apart and exact', async () => {
    const messages = [
      says('user', '"a"'),
      says('user', ' b'),
      says('assistant', 'c'),
      says('assistant', 'd'),
      says('user', 'e'),
    ]
    expect(await turns(messages)).toEqual([
      { role: 'user', content: [text('"a"'), text(' b')] },
      { role: 'assistant', content: [text('c'), text('d')] },
      { role: 'user', content: [text('e')] },
    ])
  })

  test('an assistant who speaks first has somebody to answer', async () => {
    const [first, second] = await turns([says('assistant', 'Hello'), Q])
    expect([first, second?.role]).toEqual([{ role: 'user', content: [text('.')] }, 'assistant'])
  })

  test('an assistant who speaks last is told to go on', async () => {
    expect(await turns([Q, says('assistant', 'a ')])).toMatchObject([
      asked,
      { role: 'assistant' },
      { role: 'user', content: [text('Continue.')] },
    ])
  })

  test('an assistant who speaks last is continued where that can be, without spaces at the end', async () => {
    expect(await turns([Q, says('assistant', 'a  \n')], 'prefill')).toEqual([
      asked,
      { role: 'assistant', content: [text('a')] },
    ])
  })

  test('blocks without words are left out, and a message that loses all keeps a dot', async () => {
    const messages = [says('user', [text(''), text('q'), text(' \n')]), says('assistant', ''), says('user', ' ')]
    expect(await turns(messages)).toEqual([
      asked,
      { role: 'assistant', content: [text('.')] },
      { role: 'user', content: [text('.')] },
    ])
  })

  test('tools of the history are declared where the request has none', async () => {
    const body = await sent([
      Q,
      calls(call('c1', 'f'), call('c2', 'g'), call('c3', 'f')),
      result('c1', 'r'),
      result('c2', 's'),
      result('c3', 't'),
    ])
    expect(body.tools.map(({ name }: { name: string }) => name)).toEqual(['f', 'g'])
    for (const { input_schema } of body.tools) expect(input_schema.type).toBe('object')
  })

  test('names and unknown members of messages stay', async () => {
    const { messages } = await sent([
      says('user', 'q', { name: 'bob', foo: 1 }),
      says('assistant', 'a', { audio: null, name: 'x', bar: 2 }),
      Q,
    ])
    for (const message of messages) expect(Object.keys(message).sort()).toEqual(['content', 'role'])
  })
})
