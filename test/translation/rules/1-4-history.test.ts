import { describe, expect, test } from 'bun:test'
import type { JsonBody } from '../../support/duet.ts'
import { expectError } from '../../support/wire.ts'
import { call, idOfKind, png, says, shown, text, tool, use, used, useKinds, uses } from './stage.ts'

/** Section 1.4: a messages history on its way to a chat upstream. Results have a file of their own. */

const stage = useKinds({
  plain: { protocol: 'chat' },
  parts: { protocol: 'chat', capabilities: { parts_array: true } },
  seeing: { protocol: 'chat', capabilities: { vision: true } },
  replaying: { protocol: 'chat', model: { reasoning: true }, capabilities: { reasoning_replay: true } },
  early: { protocol: 'chat', capabilities: { mid_system: false } },
  reading: { protocol: 'chat', capabilities: { documents: true } },
})

type KindName = Parameters<typeof stage.ask>[1]

const tools = [{ name: 'f', input_schema: { type: 'object' } }]
const ask = (messages: readonly object[], kind: KindName = 'plain') => stage.ask('messages', kind, { messages, tools })
const sent = async (messages: readonly object[], kind: KindName = 'plain'): Promise<JsonBody[]> =>
  (await ask(messages, kind)).sent.body.messages

const Q = says('user', 'q')
const made = (...ids: readonly string[]) => says('assistant', null, { tool_calls: ids.map(id => call(id)) })

describe('1: texts', () => {
  test('of a user are one string with blank lines between, of an assistant one without', async () => {
    const messages = [
      says('user', [text('a'), text('b')]),
      says('assistant', [text('See '), text('page 3'), text('.')]),
      says('user', [text('c')]),
    ]
    expect(await sent(messages)).toEqual([says('user', 'a\n\nb'), says('assistant', 'See page 3.'), says('user', 'c')])
  })

  test('of a user are parts where the upstream takes them', async () => {
    expect(await sent([says('user', [text('a'), text('b')])], 'parts')).toEqual([says('user', [text('a'), text('b')])])
  })

  test('beside an image are parts', async () => {
    const url = { type: 'image', source: { type: 'url', url: 'https://pics.example/a.png' } }
    expect(await sent([says('user', [text('look'), png, url])], 'seeing')).toEqual([
      says('user', [text('look'), shown, { type: 'image_url', image_url: { url: 'https://pics.example/a.png' } }]),
    ])
  })

  test('beside an image that nobody sees stay alone, and the caller is told', async () => {
    const played = await ask([says('user', [text('look'), png])])
    expect(played.sent.body.messages).toEqual([says('user', 'look')])
    expect(played.dropped).toEqual(['image'])
    const strict = await stage.ask(
      'messages',
      'plain',
      { messages: [says('user', [text('look'), png])] },
      { strict: true },
    )
    expectError(strict, { status: 400, code: 'translation_lossy', message: /image/ })
  })
})

test('an image that only its vendor can find is dropped, not sent without an address', async () => {
  const image = { type: 'image', source: { type: 'file', file_id: 'file_1' } }
  const played = await ask([says('user', [text('look'), image])], 'seeing')
  expect(played.sent.text).not.toContain('image_url')
  expect(played.dropped).toEqual(['image'])
})

describe('2: what the assistant said', () => {
  test('keeps its text beside its calls', async () => {
    const messages = [
      Q,
      says('assistant', [text('hm'), use('t1'), use('t2', 'f', { a: 1 })]),
      says('user', [used('t1', 'r'), used('t2', 's')]),
    ]
    expect((await sent(messages))[1]).toEqual(
      says('assistant', 'hm', { tool_calls: [call('t1'), call('t2', 'f', '{"a":1}')] }),
    )
  })

  test('has no content where it only called', async () => {
    expect((await sent([Q, uses('t1'), says('user', [used('t1', 'r')])]))[1]).toEqual(made('t1'))
  })

  test('keeps the text of its arguments: numbers, the order of keys, escapes', async () => {
    const inputs = ['{"n":12345678901234567890,"f":1.0}', '{"10":1,"2":2}', '{"a":"\\u00e9"}']
    for (const input of inputs) {
      const turns = `[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":${input}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"r"}]}]`
      const played = await stage.ask(
        'messages',
        'plain',
        `{"model":"${idOfKind('plain')}","max_tokens":9,"messages":${turns}}`,
      )
      expect(played.sent.body.messages[1].tool_calls[0].function.arguments).toBe(input)
    }
  })

  test('called with nothing where there is no input', async () => {
    const { input: _, ...bare } = use('t1')
    expect((await sent([Q, says('assistant', [bare]), says('user', [used('t1', 'r')])]))[1]).toEqual(made('t1'))
  })
})

describe('3: thoughts and what the vendor’s own tools did', () => {
  const thought = { type: 'thinking', thinking: 'hm', signature: 's' }
  const redacted = { type: 'redacted_thinking', data: 'x' }
  const messages = [Q, says('assistant', [thought, redacted, text('a')]), says('user', 'r')]

  test('thoughts are dropped', async () => {
    expect((await sent(messages))[1]).toEqual(says('assistant', 'a'))
  })

  test('thoughts go back to an upstream that wants them', async () => {
    expect((await sent(messages, 'replaying'))[1]).toEqual(says('assistant', 'a', { reasoning_content: 'hm' }))
  })

  test('server tools never look like calls', async () => {
    const content = [
      { type: 'server_tool_use', id: 'srv1', name: 'web_search', input: { query: 'x' } },
      {
        type: 'web_search_tool_result',
        tool_use_id: 'srv1',
        content: [{ type: 'web_search_result', url: 'https://u.example', title: 't', encrypted_content: 'E' }],
      },
      text('found'),
    ]
    const told = await sent([Q, says('assistant', content), says('user', 'r')])
    expect(told.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
    expect(told[1].content).toContain('found')
    expect(JSON.stringify(told)).not.toMatch(/tool_calls|encrypted_content/)
  })
})

describe('6: a word of the system', () => {
  test('keeps its place', async () => {
    const messages = [Q, says('assistant', 'a'), says('user', 'r'), says('system', 'LATER'), says('assistant', 'b'), Q]
    expect((await sent(messages))[3]).toEqual(says('system', 'LATER'))
  })

  test('moves behind results', async () => {
    const messages = [Q, uses('t1'), says('system', 'LATER'), says('user', [used('t1', 'r')])]
    expect((await sent(messages)).slice(1)).toEqual([made('t1'), tool('t1', 'r'), says('system', 'LATER')])
  })

  test('is a word of the user where the upstream takes none there', async () => {
    const messages = await sent([Q, says('assistant', 'a'), says('user', 'r'), says('system', 'LATER')], 'early')
    expect(messages.filter(({ role }) => role === 'system')).toEqual([])
    expect(JSON.stringify(messages.slice(2))).toMatch(/"r.*<system-reminder>.*LATER.*<\/system-reminder>/)
  })
})

describe('7: blocks without words', () => {
  test('are dropped', async () => {
    expect(await sent([says('user', [text(''), text('q'), text('')])])).toEqual([Q])
  })

  test('leave no message where nothing else is said', async () => {
    const messages = [Q, says('assistant', [text(''), use('t1')]), says('user', [used('t1', 'r'), text('')])]
    expect(await sent(messages)).toEqual([Q, made('t1'), tool('t1', 'r')])
  })

  test('keep two users apart', async () => {
    expect(await sent([Q, says('assistant', [text('')]), says('user', 'r')])).toEqual([
      Q,
      says('assistant', ''),
      says('user', 'r'),
    ])
  })
})

describe('documents of a user', () => {
  const pdf = {
    type: 'document',
    title: 'a.pdf',
    source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
  }

  test('are files where files are read', async () => {
    const [message] = await sent([says('user', [text('read'), pdf])], 'reading')
    expect(message.content[1]).toMatchObject({
      type: 'file',
      file: { file_data: 'data:application/pdf;base64,JVBERi0=' },
    })
  })

  test('never leave an empty message, nor their bytes as text', async () => {
    const played = await ask([says('user', [pdf])])
    if (played.status !== 200) return expect(played.status).toBe(400)
    expect(played.sent.text).not.toContain('JVBERi0=')
    expect(played.sent.body.messages[0].content.trim()).not.toBe('')
    expect(played.dropped).toEqual(['document'])
  })
})
