import { describe, expect, test } from 'bun:test'
import { saying } from '../../pairs/wire.ts'
import type { JsonBody } from '../../support/duet.ts'
import { call, calls, chatFolded, expectWithout, fn, result, says, use, used, useKinds } from './stage.ts'

/** Section 1.1: custom tools and legacy functions, there and back. */

const stage = useKinds({
  plain: { protocol: 'messages' },
})

const ask = (fields: object) => stage.ask('chat', 'plain', fields)
const sent = async (fields: object): Promise<JsonBody> => (await ask(fields)).sent.body

const custom = (name: string, more: object = {}) => ({ type: 'custom', custom: { name, ...more } })

describe('a custom tool', () => {
  test('is a function with one text, whatever its grammar', async () => {
    const format = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } }
    const { tools } = await sent({ tools: [custom('shell', { description: 'runs', format })] })
    expect(tools).toMatchObject([
      {
        name: 'shell',
        description: 'runs',
        input_schema: { type: 'object', properties: { input: { type: 'string' } } },
      },
    ])
    expect(Object.keys(tools[0].input_schema.properties)).toEqual(['input'])
    expect(JSON.stringify(tools)).not.toContain('lark')
    expect((await ask({ tools: [custom('shell', { format })] })).dropped).toHaveLength(1)
  })

  test('that was called and answered is told as such', async () => {
    const made = { id: 'c1', type: 'custom', custom: { name: 'shell', input: 'ls "a"\n' } }
    const body = await sent({ tools: [custom('shell')], messages: [says('user', 'q'), calls(made), result('c1', 'r')] })
    expect(body.messages[1].content).toEqual([use('c1', 'shell', { input: 'ls "a"\n' })])
    expect(body.messages[2].content).toMatchObject([used('c1')])
  })

  const answer = saying({
    calls: [
      { id: 'c1', name: 'shell', arguments: '{"input":"ls \\"a\\"\\n\\u00e9 \\ud83d\\ude00"}' },
      { id: 'c2', name: 'f', arguments: '{"input":"x"}' },
    ],
    finish: 'tool_calls',
  })
  const WANTED = [
    { id: 'c1', type: 'custom', custom: { name: 'shell', input: 'ls "a"\né 😀' } },
    call('c2', 'f', '{"input":"x"}'),
  ]

  test('is called with its bare text, whole', async () => {
    const { body } = await stage.ask('chat', 'plain', { tools: [custom('shell'), fn('f')] }, { answer })
    expect(body.choices[0].message.tool_calls).toEqual(WANTED)
    expect(body.choices[0].finish_reason).toBe('tool_calls')
  })

  test('is called with its bare text, streamed', async () => {
    const { frames } = await stage.ask('chat', 'plain', { tools: [custom('shell'), fn('f')], stream: true }, { answer })
    expect(chatFolded(frames)).toMatchObject({ calls: WANTED, finish: 'tool_calls' })
  })
})

describe('legacy functions', () => {
  const fields = { functions: [{ name: 'f', description: 'd', parameters: { type: 'object', properties: { a: {} } } }] }
  const answer = saying({ text: 'so', calls: [{ id: 'c1', name: 'f', arguments: '{"a":1}' }], finish: 'tool_calls' })

  test('are tools', async () => {
    const body = await sent(fields)
    expect(body.tools).toEqual([
      { name: 'f', description: 'd', input_schema: { type: 'object', properties: { a: {} } } },
    ])
    expectWithout(body, 'functions', 'function_call')
  })

  const choices = [
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    [{ name: 'f' }, { type: 'tool', name: 'f' }],
  ] as const
  for (const [function_call, wanted] of choices) {
    test(`are chosen by ${JSON.stringify(function_call)}`, async () => {
      expect((await sent({ ...fields, function_call })).tool_choice).toMatchObject(wanted)
    })
  }

  test('that were called and answered are told as tools', async () => {
    const messages = [
      says('user', 'q'),
      says('assistant', null, { function_call: { name: 'f', arguments: '{"a":1}' } }),
      says('function', 'r', { name: 'f' }),
    ]
    const body = await sent({ ...fields, messages })
    const [made] = body.messages[1].content
    expect(made).toEqual(use(made.id, 'f', { a: 1 }))
    expect(body.messages[2]).toMatchObject({ role: 'user', content: [{ type: 'tool_result', tool_use_id: made.id }] })
  })

  test('are answered in their own shape, whole', async () => {
    const [choice] = (await stage.ask('chat', 'plain', fields, { answer })).body.choices
    expect(choice.message.function_call).toEqual({ name: 'f', arguments: '{"a":1}' })
    expect(choice.message.content).toBe('so')
    expect(choice.finish_reason).toBe('function_call')
    expectWithout(choice.message, 'tool_calls')
  })

  test('are answered in their own shape, streamed', async () => {
    const { frames } = await stage.ask('chat', 'plain', { ...fields, stream: true }, { answer })
    const folded = chatFolded(frames)
    expect(folded).toMatchObject({ functionCall: { name: 'f', arguments: '{"a":1}' }, content: 'so', calls: [] })
    expect(folded.finish).toBe('function_call')
  })
})
