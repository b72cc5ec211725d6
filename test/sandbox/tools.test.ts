import { describe, expect, test } from 'bun:test'
import {
  deltasOf,
  type JsonObject,
  PROTOCOLS,
  type Protocol,
  say,
  streamText,
  toolChoice,
  tools,
  useSandbox,
} from './support.ts'

const sandbox = useSandbox()
const CALLED = { chat: 'tool_calls', messages: 'tool_use' }
const LENGTH = { chat: 'length', messages: 'max_tokens' }
const ID = { chat: /^call_[0-9a-f]{24}$/, messages: /^toolu_[0-9a-f]{24}$/ }

const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const WEATHER = { name: 'get_weather', description: 'Tells the current weather of a city', schema: CITY }
const CLOCK = { name: 'getLocalTime', description: 'Reads the clock in some place', schema: CITY }
const STOCKS = { name: 'stock_prices', description: 'Shares and their worth' }

for (const protocol of PROTOCOLS) {
  const offer = (...list: Parameters<typeof tools>[1][]) => tools(protocol, ...list)
  const called = async (user: string, more: JsonObject) =>
    (await say(sandbox.url, protocol, { user, more })).calls.map(call => call.name)

  describe(protocol, () => {
    test('a question that speaks of what a tool names calls it, with words of the question as arguments', async () => {
      const seen = await say(sandbox.url, protocol, {
        user: 'What is the weather in Paris?',
        more: offer(STOCKS, WEATHER),
      })
      expect(seen.stop).toBe(CALLED[protocol])
      expect(seen.text).toBe('')
      expect(seen.calls).toEqual([
        { id: expect.stringMatching(ID[protocol]), name: 'get_weather', arguments: '{"city":"Paris"}' },
      ])
    })

    test('words of a description count, and plural meets singular', async () => {
      expect(await called('How much is one share?', offer(WEATHER, STOCKS))).toEqual(['stock_prices'])
      expect(await called('Which price is it?', offer(WEATHER, STOCKS))).toEqual(['stock_prices'])
      expect(await called('Look at the clocks', offer(WEATHER, CLOCK))).toEqual(['getLocalTime'])
    })

    test('the tool with the best overlap is called, the first of equals', async () => {
      const one = { name: 'one', description: 'Finds trains' }
      const both = { name: 'both', description: 'Finds trains and planes' }
      const same = { name: 'same', description: 'Finds trains and planes' }
      expect(await called('Are there planes or trains?', offer(one, both, same))).toEqual(['both'])
    })

    test('a question about something else is answered in text', async () => {
      for (const user of ['Tell me a joke', 'What do you think about that?', 'Please give me the current list']) {
        expect(await called(user, offer(WEATHER, STOCKS))).toEqual([])
      }
    })

    test('a demanded call is made: the best match, else the first tool', async () => {
      const any = toolChoice(protocol, 'any')
      expect(await called('Tell me a joke', { ...offer(WEATHER, STOCKS), ...any })).toEqual(['get_weather'])
      expect(await called('Any price?', { ...offer(WEATHER, STOCKS), ...any })).toEqual(['stock_prices'])
    })

    test('a named tool is called whatever the question', async () => {
      const choice = toolChoice(protocol, { name: 'stock_prices' })
      expect(await called('The weather in Paris?', { ...offer(WEATHER, STOCKS), ...choice })).toEqual(['stock_prices'])
    })

    test('with none, nothing is called', async () => {
      const choice = toolChoice(protocol, 'none')
      expect(await called('The weather in Paris?', { ...offer(WEATHER), ...choice })).toEqual([])
    })

    test('several tools that are named plainly are called together, with ids of their own', async () => {
      const user = 'The weather, the stock prices and the local time in Oslo, please'
      const seen = await say(sandbox.url, protocol, { user, more: offer(WEATHER, CLOCK, STOCKS) })
      expect(seen.calls.map(call => call.name)).toEqual(['get_weather', 'getLocalTime', 'stock_prices'])
      expect(new Set(seen.calls.map(call => call.id)).size).toBe(3)
    })

    test('at most four tools are called together', async () => {
      const many = ['alpha', 'bravo', 'charlie', 'delta', 'echo_echo'].map(name => ({ name }))
      expect(await called('alpha bravo charlie delta echo', offer(...many))).toHaveLength(4)
    })

    test('parallel calls can be switched off', async () => {
      const off =
        protocol === 'chat'
          ? { parallel_tool_calls: false }
          : { tool_choice: { type: 'auto', disable_parallel_tool_use: true } }
      expect(await called('weather and local time', { ...offer(WEATHER, CLOCK), ...off })).toHaveLength(1)
    })

    test('ids of calls are the same for the same request and differ between requests', async () => {
      const idOf = async (user: string) =>
        (await say(sandbox.url, protocol, { user, more: offer(WEATHER) })).calls[0]?.id
      expect(await idOf('weather in Rome')).toBe(await idOf('weather in Rome'))
      expect(await idOf('weather in Rome')).not.toBe(await idOf('weather in Bonn'))
    })

    test('after a tool result the answer contains it', async () => {
      const seen = await say(sandbox.url, protocol, { user: '', more: { ...offer(WEATHER), ...roundTrip(protocol) } })
      expect(seen.calls).toEqual([])
      expect(seen.text).toContain('The tool get_weather returned: 21 degrees\nand sunny')
    })

    test('after a tool result a forced choice calls again', async () => {
      const more = { ...offer(WEATHER), ...roundTrip(protocol) }
      for (const choice of [toolChoice(protocol, 'any'), toolChoice(protocol, { name: 'get_weather' })]) {
        const seen = await say(sandbox.url, protocol, { user: '', more: { ...more, ...choice } })
        expect(seen.calls.map(call => call.arguments)).toEqual(['{"city":"Paris"}'])
      }
    })

    test('under a cap the arguments break off', async () => {
      const more = { ...offer(WEATHER), max_tokens: 2 }
      const seen = await say(sandbox.url, protocol, { user: 'weather in Paris', more })
      expect(seen.stop).toBe(LENGTH[protocol])
      expect(seen.outputTokens).toBe(2)
      expect(seen.calls[0]?.arguments).toBe(protocol === 'chat' ? '{"city":"Par' : '{}')
      const deltas = deltasOf(await streamText(sandbox.url, protocol, { user: 'weather in Paris', more }), protocol)
      expect(deltas).toEqual(['{"city', '":"Par'])
    })

    test('a cap that is used up leaves no room for a second call', async () => {
      const more = { ...offer(WEATHER, CLOCK), max_tokens: 3 }
      const seen = await say(sandbox.url, protocol, { user: 'weather and local time in Paris', more })
      expect(seen.calls.map(call => call.name)).toEqual(['get_weather'])
      expect(seen.stop).toBe(LENGTH[protocol])
    })

    test('a reasoning model thinks before it calls', async () => {
      const seen = await say(sandbox.url, protocol, {
        user: 'weather in Bern',
        model: 'acme/think',
        more: offer(WEATHER),
      })
      expect(seen.reasoning).toContain('get_weather')
      expect(seen.calls).toHaveLength(1)
      expect(seen.outputTokens).toBeGreaterThan(200)
    })

    test('a tool without parameters is called with none', async () => {
      const seen = await say(sandbox.url, protocol, { user: 'stock prices', more: offer(STOCKS) })
      expect(seen.calls[0]?.arguments).toBe('{}')
    })
  })
}

test('text answers several results at once', async () => {
  const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{}' } })
  const messages = [
    { role: 'user', content: 'weather and local time' },
    { role: 'assistant', content: null, tool_calls: [call('a', 'get_weather'), call('b', 'getLocalTime')] },
    { role: 'tool', tool_call_id: 'b', content: 'noon' },
    { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'rain' }] },
  ]
  const { text } = await say(sandbox.url, 'chat', { user: '', more: { messages } })
  expect(text).toContain('The tool getLocalTime returned: noon')
  expect(text).toContain('The tool get_weather returned: rain')
})

test('instructions behind a question do not hide it', async () => {
  const messages = [
    { role: 'user', content: 'weather in Paris' },
    { role: 'system', content: 'Be brief' },
  ]
  const { calls } = await say(sandbox.url, 'chat', { user: '', more: { messages, ...tools('chat', WEATHER) } })
  expect(calls).toHaveLength(1)
})

function roundTrip(protocol: Protocol): JsonObject {
  const question = { role: 'user', content: 'What is the weather in Paris?' }
  if (protocol === 'chat') {
    const call = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } }
    const result = { role: 'tool', tool_call_id: 'call_1', content: '21 degrees\nand sunny' }
    return { messages: [question, { role: 'assistant', content: null, tool_calls: [call] }, result] }
  }
  const call = { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Paris' } }
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: '21 degrees\nand sunny' }
  return { messages: [question, { role: 'assistant', content: [call] }, { role: 'user', content: [result] }] }
}
