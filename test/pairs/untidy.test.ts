import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../support/duet.ts'
import { CHAT, MESSAGES, post } from '../support/http.ts'

/**
 * Histories that real agents send and the contract allows, against a sandbox that refuses what vendors refuse: a caller
 * must not have to know which dialect the upstream of its model speaks.
 */

let duet: Duet
beforeAll(async () => {
  duet = await startDuet()
})
afterAll(() => duet.stop())

const MODELS = { chat: 'openai/gpt-4.1', messages: 'anthropic/claude-opus-4.6' } as const

const text = (value: string) => ({ type: 'text', text: value })
const use = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} })
const result = (id: string, content: unknown = 'done') => ({ type: 'tool_result', tool_use_id: id, content })
const says = (role: string, content: unknown) => ({ role, content })
const tools = [{ name: 'f', input_schema: {} }]

const round = (id: string) => [
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: id, content: 'done' },
]

const ON_MESSAGES: Record<string, object> = {
  'an empty system block': { system: [text(''), text('Be kind')], messages: [says('user', 'hi')] },
  'only empty system blocks': { system: [text('')], messages: [says('user', 'hi')] },
  'an empty block before the text': { messages: [says('user', [text(''), text('hi')])] },
  'a user who says nothing': { messages: [says('user', '')] },
  'a user with no blocks': { messages: [says('user', [])] },
  'an assistant who said nothing': { messages: [says('user', 'hi'), says('assistant', ''), says('user', 'go on')] },
  'an assistant with an empty block': {
    messages: [says('user', 'hi'), says('assistant', [text(' ')]), says('user', 'go on')],
  },
  'an empty block beside a call': {
    tools,
    messages: [says('user', 'hi'), says('assistant', [text(''), use('a')]), says('user', [result('a')])],
  },
  'an empty result': {
    tools,
    messages: [says('user', 'hi'), says('assistant', [use('a')]), says('user', [result('a', [text('')])])],
  },
  'an assistant who speaks first': { messages: [says('assistant', 'Welcome'), says('user', 'hi')] },
  'thoughts of another vendor': {
    messages: [
      says('user', 'hi'),
      says('assistant', [{ type: 'thinking', thinking: 'hm', signature: '' }, text('yes')]),
      says('user', 'why'),
    ],
  },
  'calls in two messages of the assistant': {
    tools,
    messages: [
      says('user', 'hi'),
      says('assistant', [use('a')]),
      says('assistant', [use('b')]),
      says('user', [result('a'), result('b')]),
    ],
  },
  'results in two messages of the user': {
    tools,
    messages: [
      says('user', 'hi'),
      says('assistant', [use('a'), use('b')]),
      says('user', [result('a'), text('and')]),
      says('user', [result('b')]),
    ],
  },
  'a word of the system between call and result': {
    tools,
    messages: [says('user', 'hi'), says('assistant', [use('a')]), says('system', 'Hurry'), says('user', [result('a')])],
  },
  'a tool that only its vendor can run': {
    tools: [{ type: 'web_search_20250305', name: 'web_search' }],
    messages: [says('user', 'hi')],
  },
  'fields that nobody knows': { foo: 1, seed: 7, response_format: {}, messages: [says('user', 'hi')] },
  'blocks that nobody knows': { messages: [says('user', [{ type: 'future' }, text('hi')])] },
  'a loaded tool': {
    tools,
    messages: [
      says('user', 'hi'),
      says('assistant', [use('a')]),
      says('user', [result('a', [{ type: 'tool_reference', tool_name: 'g' }])]),
    ],
  },
}

const ON_CHAT: Record<string, object> = {
  'a user who says nothing': { messages: [says('user', '')] },
  'an assistant who said nothing but called': {
    messages: [
      says('user', 'hi'),
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: [text('x'), text('y')] },
    ],
  },
  'ids that begin anew with every turn': {
    messages: [says('user', 'hi'), ...round('a'), ...round('a'), says('user', 'and?')],
  },
  'a developer': { messages: [says('developer', 'Be kind'), says('user', 'hi')] },
  'several users in a row': { messages: [says('user', 'a'), says('user', 'b')] },
  'fields that nobody knows': {
    foo: 1,
    top_k: 7,
    messages: [{ ...says('user', 'hi'), cache_control: { type: 'ephemeral' } }],
  },
}

for (const [path, requests] of [
  [MESSAGES, ON_MESSAGES],
  [CHAT, ON_CHAT],
] as const) {
  for (const [upstream, model] of Object.entries(MODELS)) {
    describe(`${path} over a ${upstream} upstream takes`, () => {
      for (const [what, request] of Object.entries(requests)) {
        test(what, async () => {
          const answer = await post(duet, path, { model, max_tokens: 50, ...request })
          expect(answer.body.error?.message ?? 'taken').toBe('taken')
          expect(answer.status).toBe(200)
        })
      }
    })
  }
}

describe('a leading system message on messages is the system prompt', () => {
  for (const [upstream, model] of Object.entries(MODELS)) {
    for (const system of [undefined, 'First this', [text('First this')]]) {
      test(`${upstream} upstream, beside ${JSON.stringify(system)}`, async () => {
        const messages = [says('system', 'SYSA'), says('user', 'hi')]
        const { body } = await post(duet, MESSAGES, { model, max_tokens: 100, system, messages })
        expect(body.content[0].text).toContain(
          system ? 'My instructions begin with "First this' : 'My instructions begin with "SYSA',
        )
      })
    }
  }
})

test('JSON after a tool result tells the result, whichever dialect the upstream speaks', async () => {
  for (const model of Object.values(MODELS)) {
    const call = { id: 'a', type: 'function', function: { name: 'get_weather', arguments: '{}' } }
    const { body } = await post(duet, CHAT, {
      model,
      response_format: { type: 'json_object' },
      tools: [{ type: 'function', function: { name: 'get_weather' } }],
      messages: [
        says('user', 'weather in Paris?'),
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'a', content: 'sunny 21' },
      ],
    })
    expect(Object.values(JSON.parse(body.choices[0].message.content)).join(' ')).toContain('sunny 21')
  }
})
