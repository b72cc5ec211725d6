import { describe, expect, test } from 'bun:test'
import type { JsonBody } from '../../support/duet.ts'
import { eventStream, VENDOR_KEY, VENDOR_MODEL } from '../../support/upstream.ts'
import { chatFrame, messagesFrame, openingFrames, vendorBody, vendorFrames } from '../../support/vendor.ts'
import { PROTOCOLS, type ProtocolName } from '../../support/wire.ts'
import { call, calls, expectWithout, idOfKind, result, says, text, use, used, useKinds } from './stage.ts'

/** Section 1.6: caller and upstream speak alike, and almost nothing is changed. */

const stage = useKinds({
  chat: { protocol: 'chat' },
  messages: { protocol: 'messages' },
  developers: { protocol: 'chat', capabilities: { developer_role: true } },
  uncounted: { protocol: 'chat', capabilities: { stream_usage: false } },
  renamed: { protocol: 'chat', capabilities: { max_tokens_field: 'max_completion_tokens' } },
  'seeing-chat': { protocol: 'chat', capabilities: { vision: true } },
  'seeing-messages': { protocol: 'messages', capabilities: { vision: true } },
  'blind-chat': { protocol: 'chat', model: { images: 'forward' }, capabilities: { vision: false } },
  'blind-messages': { protocol: 'messages', model: { images: 'forward' }, capabilities: { vision: false } },
  'unmended-chat': { protocol: 'chat', capabilities: { repair: false } },
  'unmended-messages': { protocol: 'messages', capabilities: { repair: false } },
})

type KindName = Parameters<typeof stage.ask>[1]

const BODIES: Readonly<Record<ProtocolName, string>> = {
  chat: `{"zeta":1.0,"model":"MODEL","max_tokens":9,"big":12345678901234567890,"messages":[ {"role":"user","content":"\\u00e9 \\/ é"},
    {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{ \\"10\\":1, \\"2\\": 1e400 }"}}]},
    {"tool_call_id":"c1","role":"tool","content":"r"}],"foo":{"10":1,"2":2}}`,
  messages: `{"zeta":1.0,"model":"MODEL","max_tokens":9,"big":12345678901234567890,"messages":[ {"role":"user","content":"\\u00e9 \\/ é"},
    {"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{ "10":1, "2": 1e400 }}]},
    {"content":[{"tool_use_id":"t1","type":"tool_result","content":"r"}],"role":"user"}],"foo":{"10":1,"2":2}}`,
}

for (const protocol of PROTOCOLS) {
  describe(protocol, () => {
    test('the request arrives byte for byte but for the name of the model', async () => {
      const body = BODIES[protocol].replace('MODEL', idOfKind(protocol))
      const played = await stage.ask(protocol, protocol, body)
      expect(played.status).toBe(200)
      expect(played.sent.text).toBe(BODIES[protocol].replace('MODEL', VENDOR_MODEL))
      expect(played.dropped).toEqual([])
    })

    test('the upstream sees its own key and not the caller’s', async () => {
      const { sent } = await stage.ask(protocol, protocol, {})
      const headers = JSON.stringify([...sent.headers])
      expect(headers).toContain(VENDOR_KEY)
      expect(headers).not.toContain(stage.duet.key)
      expect(sent.headers.get(protocol === 'chat' ? 'authorization' : 'x-api-key')).toContain(VENDOR_KEY)
    })

    test('the answer keeps what nobody knows, and has the caller’s name of the model', async () => {
      const vendor = JSON.stringify({
        ...vendorBody(protocol),
        fingerprint: 'BIG',
        nested: { '10': 1, '2': 2 },
      }).replace('"BIG"', '12345678901234567890')
      const played = await stage.ask(
        protocol,
        protocol,
        {},
        { answer: () => new Response(vendor, { headers: { 'content-type': 'application/json' } }) },
      )
      expect(played.body.model).toBe(idOfKind(protocol))
      expect(played.text).toContain('"fingerprint":12345678901234567890')
      expect(played.body.nested).toEqual({ '10': 1, '2': 2 })
      expect(played.text).not.toContain(VENDOR_MODEL)
    })

    test('a stream keeps what nobody knows, and has the caller’s name of the model', async () => {
      const extra =
        protocol === 'chat'
          ? chatFrame({ delta: { content: 'x' }, odd: 1 }, { fingerprint: 'fp_1' })
          : messagesFrame('novelty', { fingerprint: 'fp_1' })
      const frames = [
        ...openingFrames(protocol),
        extra,
        ...vendorFrames(protocol).slice(openingFrames(protocol).length),
      ]
      const played = await stage.ask(protocol, protocol, { stream: true }, { answer: () => eventStream(frames) })
      expect(played.text).toContain('fp_1')
      expect(played.text).not.toContain(VENDOR_MODEL)
      expect(played.text).toContain(idOfKind(protocol))
    })

    const image =
      protocol === 'chat'
        ? { type: 'image_url', image_url: { url: 'https://pics.example/a.png' } }
        : { type: 'image', source: { type: 'url', url: 'https://pics.example/a.png' } }
    const messages = [says('user', [text('look'), image])]

    for (const kind of [protocol, `blind-${protocol}`] as KindName[]) {
      test(`images are dropped where nobody sees them: ${kind}`, async () => {
        const played = await stage.ask(protocol, kind, { messages })
        expect(played.sent.text).not.toContain('pics.example')
        expect(played.sent.text).toContain('look')
        expect(played.dropped).toEqual(['image'])
      })
    }

    test('images pass where they are seen', async () => {
      const played = await stage.ask(protocol, `seeing-${protocol}`, { messages })
      expect(played.sent.body.messages).toEqual(messages)
      expect(played.dropped).toEqual([])
    })
  })
}

test('ids of messages are bare hexadecimal digits, whole and streamed', async () => {
  expect((await stage.ask('messages', 'messages', {})).body.id).toMatch(/^[0-9a-f]+$/)
  const { frames, text } = await stage.ask('messages', 'messages', { stream: true })
  expect(frames[0]?.json.message.id).toMatch(/^[0-9a-f]+$/)
  expect(text).not.toContain('msg_')
})

describe('usage of a chat stream', () => {
  const withUsage = ({ text }: { text: string }) => text.includes('"usage":{')

  test('is always asked for, and hidden from a caller who did not ask', async () => {
    for (const stream_options of [undefined, null, { include_usage: false }]) {
      const played = await stage.ask('chat', 'chat', { stream: true, stream_options })
      expect(played.sent.body.stream_options).toEqual({ include_usage: true })
      expect(withUsage(played)).toBe(false)
      for (const { json } of played.frames.slice(0, -1)) {
        expect(json.choices).toHaveLength(1)
        expectWithout(json, 'usage')
      }
    }
  })

  test('is shown to one who did', async () => {
    const played = await stage.ask('chat', 'chat', { stream: true, stream_options: { include_usage: true } })
    const last = played.frames.at(-2)?.json
    expect(last.choices).toEqual([])
    expect(last.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 })
  })

  test('is hidden on every chunk that carries it', async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 1, total_tokens: 8 }
    const frames = [
      chatFrame({ delta: { role: 'assistant', content: 'a' } }, { usage }),
      chatFrame({ delta: {}, finish_reason: 'stop' }, { usage }),
      'data: [DONE]\n\n',
    ]
    const played = await stage.ask('chat', 'chat', { stream: true }, { answer: () => eventStream(frames) })
    expect(played.text).not.toContain('prompt_tokens')
    expect(played.frames).toHaveLength(3)
  })

  test('is not asked of an upstream that cannot count', async () => {
    expectWithout((await stage.ask('chat', 'uncounted', { stream: true })).sent.body, 'stream_options')
  })
})

test('a developer is a system where nobody knows developers', async () => {
  const messages = [says('developer', 'A'), says('user', 'q')]
  expect((await stage.ask('chat', 'chat', { messages })).sent.body.messages[0]).toEqual(says('system', 'A'))
  expect((await stage.ask('chat', 'developers', { messages })).sent.body.messages[0]).toEqual(says('developer', 'A'))
})

test('the limit goes by the name that the upstream knows', async () => {
  const body = (await stage.ask('chat', 'renamed', { max_tokens: 7 })).sent.body
  expect(body.max_completion_tokens).toBe(7)
  expectWithout(body, 'max_tokens')
  const plain = (await stage.ask('chat', 'chat', { max_completion_tokens: 7 })).sent.body
  expect(plain.max_tokens).toBe(7)
  expectWithout(plain, 'max_completion_tokens')
})

test('a tool without a name of its own reaches the upstream that knows it', async () => {
  const tools = [{ type: 'mcp_toolset', mcp_server_name: 'm' }]
  expect((await stage.ask('messages', 'messages', { tools })).sent.body.tools).toEqual(tools)
})

test('empty texts do not reach a messages upstream', async () => {
  const messages = [says('user', [text(''), text('q')]), says('assistant', [text(''), text('a')]), says('user', 'r')]
  const { sent } = await stage.ask('messages', 'messages', { messages, system: [text(''), text('S')] })
  expect(sent.text).not.toContain('"text":""')
  expect(sent.body.messages[1].content).toEqual([text('a')])
})

describe('holes in a history', () => {
  test('are mended before a chat upstream', async () => {
    const messages = [
      says('user', 'q'),
      calls(call('c1'), call('c2')),
      result('c2', 'r'),
      result('zzz', 'LOST'),
      says('user', 'so?'),
    ]
    const told: JsonBody[] = (await stage.ask('chat', 'chat', { messages })).sent.body.messages
    expect(
      told
        .filter(({ role }) => role === 'tool')
        .map(({ tool_call_id }) => tool_call_id)
        .sort(),
    ).toEqual(['c1', 'c2'])
    expect(JSON.stringify(told)).toContain('LOST')
    expect((await stage.ask('chat', 'unmended-chat', { messages })).sent.body.messages).toEqual(messages)
  })

  test('are mended before a messages upstream', async () => {
    const messages = [
      says('user', 'q'),
      says('assistant', [use('t1'), use('t2')]),
      says('user', [used('t2', 'r'), used('zzz', 'LOST')]),
    ]
    const told = (await stage.ask('messages', 'messages', { messages })).sent.body.messages
    const results = told[2].content.filter(({ type }: JsonBody) => type === 'tool_result')
    expect(results.map(({ tool_use_id }: JsonBody) => tool_use_id).sort()).toEqual(['t1', 't2'])
    expect(JSON.stringify(told)).toContain('LOST')
    expect((await stage.ask('messages', 'unmended-messages', { messages })).sent.body.messages).toEqual(messages)
  })
})
