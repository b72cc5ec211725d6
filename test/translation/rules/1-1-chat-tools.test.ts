import { describe, expect, test } from 'bun:test'
import { saying } from '../../pairs/wire.ts'
import type { JsonBody } from '../../support/duet.ts'
import { call, calls, expectRefused, expectWithout, fn, idOfKind, result, says, use, useKinds } from './stage.ts'

/** Section 1.1: functions of a chat request before a messages upstream, and their calls on the way back. */

const stage = useKinds({
  plain: { protocol: 'messages' },
  strict: { protocol: 'messages', capabilities: { strict_tools: true } },
})

const ask = (fields: object) => stage.ask('chat', 'plain', fields)
const sent = async (fields: object): Promise<JsonBody> => (await ask(fields)).sent.body

const LEGAL = /^[A-Za-z0-9_-]{1,128}$/
const TOOLS = [fn('f'), fn('g')]
const custom = (name: string, more: object = {}) => ({ type: 'custom', custom: { name, ...more } })

describe('a function', () => {
  const schemas = [
    ['no schema', undefined, { type: 'object', properties: {} }],
    ['an empty schema', {}, { type: 'object', properties: {} }],
    ['a type that is null', { type: null, properties: { a: {} } }, { type: 'object', properties: { a: {} } }],
    ['no type', { properties: { a: {} }, required: ['a'] }, { type: 'object', properties: { a: {} }, required: ['a'] }],
    ['no properties', { type: 'object' }, { type: 'object', properties: {} }],
  ] as const
  for (const [what, parameters, wanted] of schemas) {
    test(`with ${what} gets a schema that is taken`, async () => {
      expect((await sent({ tools: [fn('f', { parameters })] })).tools).toEqual([{ name: 'f', input_schema: wanted }])
    })
  }

  test('keeps the text of its schema: numbers and the order of keys', async () => {
    const schema = '{"type":"object","properties":{"10":{"const":12345678901234567890},"2":{"default":1.0}}}'
    const body = `{"model":"${idOfKind('plain')}","messages":[{"role":"user","content":"q"}],"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}]}`
    expect((await stage.ask('chat', 'plain', body)).sent.text).toContain(schema)
  })

  test('has its description only where that is a text', async () => {
    const { tools } = await sent({
      tools: [fn('f', { description: 'does f' }), fn('g', { description: null }), fn('h')],
    })
    expect(tools.map(({ description }: JsonBody) => description)).toEqual(['does f', undefined, undefined])
    expectWithout(tools[1], 'description')
  })

  test('is strict only before an upstream that knows strictness', async () => {
    const tools = [
      fn('f', { strict: true, parameters: { type: 'object', properties: {} } }),
      fn('g', { strict: false }),
    ]
    const plain = await ask({ tools })
    expectWithout(plain.sent.body.tools[0], 'strict')
    expect((await stage.ask('chat', 'strict', { tools })).sent.body.tools[0].strict).toBe(true)
  })
})

describe('a name that the upstream would refuse', () => {
  const names = ['mcp.server/read file', 'x'.repeat(129), 'größe', 'a.b', 'a/b']
  const tools = [...names, 'a_b', 'fine-1'].map(name => fn(name))

  test('is replaced by a legal one, always the same and no other tool’s', async () => {
    const first = (await sent({ tools })).tools.map(({ name }: JsonBody) => name)
    const again = (await sent({ tools })).tools.map(({ name }: JsonBody) => name)
    for (const name of first) expect(name).toMatch(LEGAL)
    expect(new Set(first).size).toBe(tools.length)
    expect(again).toEqual(first)
    expect(first.slice(-2)).toEqual(['a_b', 'fine-1'])
  })

  test('is replaced in the choice and in the history, too', async () => {
    const body = await sent({
      tools: [fn('a.b')],
      tool_choice: fn('a.b'),
      messages: [says('user', 'q'), calls(call('c1', 'a.b')), result('c1', 'r')],
    })
    const [{ name }] = body.tools
    expect(name).toMatch(LEGAL)
    expect(body.tool_choice).toEqual({ type: 'tool', name })
    expect(body.messages[1].content).toEqual([use('c1', name)])
  })

  for (const stream of [false, true]) {
    test(`comes back to the caller as it was, ${stream ? 'streamed' : 'whole'}`, async () => {
      for (const name of names) {
        const completion = await stage.official('chat', 'plain', { tools, stream }, visit => {
          const shown = visit.body.tools[names.indexOf(name)].name
          return saying({ calls: [{ id: 'c1', name: shown, arguments: '{"a":1}' }], finish: 'tool_calls' })(visit)
        })
        expect(completion.choices[0].message.tool_calls).toMatchObject([
          { id: 'c1', function: { name, arguments: '{"a":1}' } },
        ])
      }
    })
  }
})

describe('the choice', () => {
  const rows: readonly [string, object, JsonBody][] = [
    ['auto', { tool_choice: 'auto' }, { type: 'auto' }],
    ['none', { tool_choice: 'none' }, { type: 'none' }],
    ['required', { tool_choice: 'required' }, { type: 'any' }],
    ['a function', { tool_choice: fn('g') }, { type: 'tool', name: 'g' }],
    ['one at a time', { parallel_tool_calls: false }, { type: 'auto', disable_parallel_tool_use: true }],
    [
      'any, one at a time',
      { tool_choice: 'required', parallel_tool_calls: false },
      { type: 'any', disable_parallel_tool_use: true },
    ],
    [
      'g, one at a time',
      { tool_choice: fn('g'), parallel_tool_calls: false },
      { type: 'tool', name: 'g', disable_parallel_tool_use: true },
    ],
    ['none, one at a time', { tool_choice: 'none', parallel_tool_calls: false }, { type: 'none' }],
  ]
  for (const [what, fields, wanted] of rows) {
    test(`${what} is told as ${JSON.stringify(wanted)}`, async () => {
      const body = await sent({ tools: TOOLS, ...fields })
      expect(body.tool_choice).toEqual(wanted)
      expectWithout(body, 'parallel_tool_calls')
    })
  }

  test('many at a time is what there is anyway', async () => {
    expectWithout(await sent({ tools: TOOLS, parallel_tool_calls: true }), 'tool_choice', 'parallel_tool_calls')
  })

  test('of a custom tool names it', async () => {
    const body = await sent({
      tools: [custom('shell'), fn('f')],
      tool_choice: { type: 'custom', custom: { name: 'shell' } },
    })
    expect(body.tool_choice).toEqual({ type: 'tool', name: 'shell' })
  })

  test('of a function that is not there is refused', async () => {
    expectRefused(await ask({ tools: TOOLS, tool_choice: fn('nowhere') }), /^tool_choice/)
  })

  for (const [mode, type] of [
    ['auto', 'auto'],
    ['required', 'any'],
  ] as const) {
    test(`of some tools leaves only those, ${mode}`, async () => {
      const allowed_tools = { mode, tools: [{ type: 'function', function: { name: 'g' } }] }
      const body = await sent({ tools: [...TOOLS, fn('h')], tool_choice: { type: 'allowed_tools', allowed_tools } })
      expect(body.tools.map(({ name }: JsonBody) => name)).toEqual(['g'])
      expect(body.tool_choice).toEqual({ type })
    })
  }

  for (const tools of [[], undefined, null]) {
    test(`goes where there are no tools: ${JSON.stringify(tools) ?? 'absent'}`, async () => {
      for (const tool_choice of ['auto', 'none']) {
        const played = await ask({ tools, tool_choice, parallel_tool_calls: false })
        expect(played.status).toBe(200)
        expectWithout(played.sent.body, 'tools', 'tool_choice', 'parallel_tool_calls')
      }
    })
  }
})
