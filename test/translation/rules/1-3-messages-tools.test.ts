import { describe, expect, test } from 'bun:test'
import { saying } from '../../pairs/wire.ts'
import type { JsonBody } from '../../support/duet.ts'
import { call, expectWithout, fn, idOfKind, says, text, use, used, useKinds } from './stage.ts'

/** Section 1.3: tools of a messages request before a chat upstream, and their calls on the way back. */

const stage = useKinds({
  plain: { protocol: 'chat' },
  serial: { protocol: 'chat', capabilities: { parallel_tools: false } },
  toolless: { protocol: 'chat', capabilities: { tools: false } },
})

type KindName = Parameters<typeof stage.ask>[1]

const ask = (fields: object, kind: KindName = 'plain') => stage.ask('messages', kind, fields)
const sent = async (fields: object, kind: KindName = 'plain'): Promise<JsonBody> => (await ask(fields, kind)).sent.body

const EMPTY = { type: 'object', properties: {} }
const tool = (name: string, more: object = {}) => ({ name, input_schema: EMPTY, ...more })
const names = ({ tools }: JsonBody): string[] => tools.map((each: JsonBody) => each.function.name)

describe('a tool', () => {
  test('is a function and nothing more', async () => {
    const more = {
      type: 'custom',
      cache_control: { type: 'ephemeral' },
      eager_input_streaming: true,
      defer_loading: false,
      allowed_callers: ['direct'],
      input_examples: [{ a: 1 }],
      strict: true,
      foo: 1,
    }
    const { tools } = await sent({
      tools: [tool('f', { description: 'does', ...more }), tool('g', { description: null }), tool('h')],
    })
    expect(tools).toEqual([
      fn('f', { description: 'does', parameters: EMPTY }),
      fn('g', { parameters: EMPTY }),
      fn('h', { parameters: EMPTY }),
    ])
  })

  const schemas = [
    [{}, EMPTY],
    [{ type: null }, EMPTY],
    [
      { properties: { a: {} }, required: ['a'] },
      { type: 'object', properties: { a: {} }, required: ['a'] },
    ],
    [{ type: 'object' }, EMPTY],
  ] as const
  for (const [input_schema, wanted] of schemas) {
    test(`with the schema ${JSON.stringify(input_schema)} gets one that is taken`, async () => {
      expect((await sent({ tools: [{ name: 'f', input_schema }] })).tools[0].function.parameters).toEqual(wanted)
    })
  }

  test('keeps the text of its schema: numbers and the order of keys', async () => {
    const schema = '{"type":"object","properties":{"10":{"const":12345678901234567890},"2":{"default":1.0}}}'
    const body = `{"model":"${idOfKind('plain')}","max_tokens":9,"messages":[{"role":"user","content":"q"}],"tools":[{"name":"f","input_schema":${schema}}]}`
    expect((await stage.ask('messages', 'plain', body)).sent.text).toContain(schema)
  })
})

describe('a name of more than 64 letters', () => {
  const long = `mcp__${'server'.repeat(15)}__read`
  const other = `mcp__${'server'.repeat(15)}__write`
  const tools = [tool(long), tool(other), tool('x'.repeat(64))]

  test('is cut to 55 and a digest, always the same', async () => {
    const first = names(await sent({ tools }))
    expect(first[0]).toMatch(new RegExp(`^${long.slice(0, 55)}_[0-9a-f]{8}$`))
    expect(first[1]).toMatch(/^.{55}_[0-9a-f]{8}$/)
    expect(first[1]).not.toBe(first[0])
    expect(first[2]).toBe('x'.repeat(64))
    expect(names(await sent({ tools }))).toEqual(first)
  })

  test('is cut in the choice and in the history, too', async () => {
    const body = await sent({
      tools,
      tool_choice: { type: 'tool', name: other },
      messages: [says('user', 'q'), says('assistant', [use('t1', other)]), says('user', [used('t1', 'r')])],
    })
    const name = names(body)[1]
    expect(body.tool_choice).toEqual(fn(name ?? ''))
    expect(body.messages[1].tool_calls[0].function.name).toBe(name)
  })

  for (const stream of [false, true]) {
    test(`comes back to the caller as it was, ${stream ? 'streamed' : 'whole'}`, async () => {
      const { content } = await stage.official('messages', 'plain', { tools, stream }, visit =>
        saying({
          calls: [
            { id: 'c1', name: visit.body.tools[1].function.name, arguments: '{"a":1}' },
            { id: 'c2', name: visit.body.tools[0].function.name, arguments: '{}' },
          ],
          finish: 'tool_calls',
        })(visit),
      )
      expect(content).toMatchObject([use('c1', other, { a: 1 }), use('c2', long)])
    })
  }
})

describe('tools that only their vendor can run', () => {
  const SERVER = [
    { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
    { type: 'web_fetch_20250910', name: 'web_fetch' },
    { type: 'code_execution_20250825', name: 'code_execution' },
    { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
  ]

  test('are dropped and named, the others stay', async () => {
    const played = await ask({ tools: [...SERVER, tool('f')] })
    expect(names(played.sent.body)).toEqual(['f'])
    expect(played.dropped.length).toBeGreaterThan(0)
  })

  for (const server of SERVER) {
    test(`${server.type} alone leaves no tools and no choice`, async () => {
      for (const tool_choice of [undefined, { type: 'auto' }, { type: 'any', disable_parallel_tool_use: true }]) {
        const played = await ask({ tools: [server], tool_choice })
        expect(played.status).toBe(200)
        expectWithout(played.sent.body, 'tools', 'tool_choice', 'parallel_tool_calls')
      }
    })
  }

  test('cannot be forced, whether others are left or not', async () => {
    for (const others of [[], [tool('f')]]) {
      const played = await ask({ tools: [SERVER[0], ...others], tool_choice: { type: 'tool', name: 'web_search' } })
      expect(played.status).toBe(200)
      expect(JSON.stringify(played.sent.body.tool_choice) ?? '').not.toContain('web_search')
    }
  })

  test('may have no name of their own', async () => {
    const toolset = { type: 'mcp_toolset', mcp_server_name: 'm' }
    const played = await ask({ tools: [toolset, tool('f')] })
    expect(played.status).toBe(200)
    expect(names(played.sent.body)).toEqual(['f'])
  })

  test('cannot load what is deferred, so that is there from the start', async () => {
    const search = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }
    const body = await sent({ tools: [search, tool('f', { defer_loading: true }), tool('g')] })
    expect(names(body)).toEqual(['f', 'g'])
    expect(JSON.stringify(body)).not.toContain('defer_loading')
  })

  test('are a loss to a strict caller', async () => {
    const played = await stage.ask('messages', 'plain', { tools: SERVER }, { strict: true })
    expect([played.status, played.body.error?.code]).toEqual([400, 'translation_lossy'])
  })
})

describe('tools that the vendor defines and the caller runs', () => {
  const CLIENT = [
    { type: 'bash_20250124', name: 'bash', wants: ['command', 'restart'] },
    { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', wants: ['command', 'path'] },
    { type: 'computer_20250124', name: 'computer', display_width_px: 800, display_height_px: 600, wants: ['action'] },
    { type: 'memory_20250818', name: 'memory', wants: ['command', 'path'] },
  ]
  for (const { wants, ...given } of CLIENT) {
    test(`${given.type} is a function with its published schema`, async () => {
      const { tools } = await sent({ tools: [given], tool_choice: { type: 'tool', name: given.name } })
      expect(tools).toHaveLength(1)
      expect(Object.keys(tools[0]).sort()).toEqual(['function', 'type'])
      expect(tools[0].function.name).toBe(given.name)
      expect(tools[0].function.parameters.type).toBe('object')
      expect(Object.keys(tools[0].function.parameters.properties)).toEqual(expect.arrayContaining(wants))
    })
  }

  for (const stream of [false, true]) {
    test(`are called by their own names, ${stream ? 'streamed' : 'whole'}`, async () => {
      const tools = [{ type: 'bash_20250124', name: 'bash' }]
      const answer = saying({
        calls: [{ id: 'c1', name: 'bash', arguments: '{"command":"ls"}' }],
        finish: 'tool_calls',
      })
      const { content, stop_reason } = await stage.official('messages', 'plain', { tools, stream }, answer)
      expect(content).toMatchObject([use('c1', 'bash', { command: 'ls' })])
      expect(stop_reason).toBe('tool_use')
    })
  }
})

describe('the choice', () => {
  const tools = [tool('f'), tool('g')]
  const rows = [
    [{ type: 'auto' }, 'auto'],
    [{ type: 'any' }, 'required'],
    [{ type: 'tool', name: 'g' }, fn('g')],
    [{ type: 'none' }, 'none'],
  ] as const
  for (const [tool_choice, wanted] of rows) {
    test(`${JSON.stringify(tool_choice)} is told as ${JSON.stringify(wanted)}`, async () => {
      const body = await sent({ tools, tool_choice })
      expect(body.tool_choice).toEqual(wanted)
      expectWithout(body, 'parallel_tool_calls')
    })
  }

  test('of one call at a time is told where that can be said', async () => {
    const tool_choice = { type: 'auto', disable_parallel_tool_use: true }
    expect((await sent({ tools, tool_choice })).parallel_tool_calls).toBe(false)
    expectWithout(await sent({ tools, tool_choice }, 'serial'), 'parallel_tool_calls')
    expectWithout(await sent({ tools: [], tool_choice }), 'tools', 'tool_choice', 'parallel_tool_calls')
    expectWithout(await sent({ tool_choice }), 'tools', 'tool_choice', 'parallel_tool_calls')
  })

  test('and the tools stay behind before an upstream that knows none', async () => {
    const played = await ask({ tools, tool_choice: { type: 'any' } }, 'toolless')
    expectWithout(played.sent.body, 'tools', 'tool_choice', 'parallel_tool_calls')
    expect(played.dropped).toContain('tools')
  })
})

test('a request as a coding agent sends it arrives as an ordinary one', async () => {
  const cache_control = { type: 'ephemeral' }
  const played = await ask({
    max_tokens: 32_000,
    system: [text('x-anthropic-billing-header: cc_version=2.1.50;'), text('You are an agent.', { cache_control })],
    metadata: { user_id: `user_${'a'.repeat(150)}` },
    thinking: { type: 'adaptive' },
    output_config: { effort: 'high' },
    context_management: { edits: [] },
    tools: [
      tool('ToolSearch', { description: 'finds' }),
      tool('Grep', { defer_loading: true }),
      { type: 'web_search_20250305', name: 'web_search' },
    ],
    messages: [
      says('user', [text('<system-reminder>be brief</system-reminder>'), text('find it', { cache_control })]),
      says('assistant', [
        { type: 'thinking', thinking: 'hm', signature: 's' },
        use('toolu_01', 'ToolSearch', { query: 'grep' }),
      ]),
      says('user', [
        used('toolu_01', [{ type: 'tool_reference', tool_name: 'Grep' }]),
        text('go on', { cache_control }),
      ]),
      says('system', 'Plan mode is off.'),
    ],
  })
  expect(played.status).toBe(200)
  const { messages, ...fields } = played.sent.body
  expect(messages).toEqual([
    says('system', 'You are an agent.'),
    says('user', '<system-reminder>be brief</system-reminder>\n\nfind it'),
    says('assistant', null, { tool_calls: [call('toolu_01', 'ToolSearch', '{"query":"grep"}')] }),
    says('tool', '[tool loaded: Grep]', { tool_call_id: 'toolu_01' }),
    says('user', 'go on'),
    says('system', 'Plan mode is off.'),
  ])
  const { stream = false, ...rest } = fields
  expect(stream).toBe(false)
  expect(Object.keys(rest).sort()).toEqual(['max_tokens', 'model', 'tools', 'user'])
  expect(names(fields)).toEqual(['ToolSearch', 'Grep'])
  expect(fields.user).toMatch(/^[0-9a-f]{64}$/)
})
