import { describe, expect, test } from 'bun:test'
import type { JsonBody } from '../../support/duet.ts'
import { call, calls, expectWithout, fn, type Played, result, says, use, used, useKinds } from '../rules/stage.ts'

/** Tools and calls of a request, where they are odd and where nobody can take them. */

const stage = useKinds({
  chat: { protocol: 'chat' },
  messages: { protocol: 'messages' },
  'toolless-chat': { protocol: 'chat', capabilities: { tools: false } },
  'toolless-messages': { protocol: 'messages', capabilities: { tools: false } },
})

describe('a call without an input has an empty one', () => {
  for (const block of [
    { ...use('t1'), input: null },
    { type: 'tool_use', id: 't1', name: 'f' },
  ]) {
    test(JSON.stringify(block), async () => {
      const messages = [says('user', 'q'), says('assistant', [block]), says('user', [used('t1', 'r')])]
      const { sent } = await stage.ask('messages', 'chat', { messages })
      expect(sent.body.messages[1].tool_calls[0].function.arguments).toBe('{}')
    })
  }
})

test('a function without a name offers nothing', async () => {
  const { sent, status } = await stage.ask('chat', 'messages', { functions: [{ description: 'nameless' }] })
  expect(status).toBe(200)
  expectWithout(sent.body, 'tools', 'tool_choice')
})

describe('an upstream that knows no tools', () => {
  function expectInWords({ status, sent, dropped }: Played): void {
    expect(status).toBe(200)
    expectWithout(sent.body, 'tools', 'tool_choice', 'parallel_tool_calls')
    expect(sent.body.messages.filter(({ role }: JsonBody) => role === 'tool')).toEqual([])
    for (const word of ['"tool_use"', '"tool_result"', '"tool_calls"']) expect(sent.text).not.toContain(word)
    const told = JSON.stringify(sent.body.messages)
    for (const word of ['weather', 'Oslo', 'three degrees', 'out of paper']) expect(told).toContain(word)
    expect(dropped).toContain('tools')
  }

  test('hears of calls and results in words, from a chat client', async () => {
    const messages = [
      says('user', 'q'),
      calls(call('c1', 'weather', '{"city":"Oslo"}'), call('c2', 'print')),
      result('c1', 'three degrees'),
      result('c2', 'out of paper', { is_error: true }),
      says('user', 'go on'),
    ]
    const fields = {
      messages,
      tools: [fn('weather'), fn('print')],
      tool_choice: 'required',
      parallel_tool_calls: false,
    }
    expectInWords(await stage.ask('chat', 'toolless-messages', fields))
  })

  test('hears of calls and results in words, from a messages client', async () => {
    const results = [used('t1', 'three degrees'), used('t2', 'out of paper', { is_error: true })]
    const messages = [
      says('user', 'q'),
      says('assistant', [use('t1', 'weather', { city: 'Oslo' }), use('t2', 'print')]),
      says('user', results),
      says('user', 'go on'),
    ]
    const tools = ['weather', 'print'].map(name => ({ name, input_schema: { type: 'object' } }))
    const tool_choice = { type: 'any', disable_parallel_tool_use: true }
    expectInWords(await stage.ask('messages', 'toolless-chat', { messages, tools, tool_choice }))
  })
})
