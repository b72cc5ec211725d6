import { describe, expect } from 'bun:test'
import { z } from 'zod'
import type { JsonBody } from '../support/duet.ts'
import {
  ask,
  CHAT_CLIENTS,
  eachPair,
  eachWay,
  failureOf,
  isReasoning,
  type Line,
  type Reply,
  type Tool,
  useSandbox,
} from './pairs.ts'

const stage = useSandbox()

const WEATHER: Tool = {
  name: 'get_weather',
  description: 'The weather of a city',
  schema: {
    type: 'object',
    properties: {
      city: { type: 'string', minLength: 1 },
      days: { type: 'integer', minimum: 1, maximum: 10 },
      unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
      place: { type: 'object', properties: { lat: { type: 'number' }, lon: { type: 'number' } }, required: ['lat'] },
      tags: { type: 'array', items: { type: 'string' }, minItems: 1 },
    },
    required: ['city', 'days', 'unit', 'place', 'tags'],
  },
}
const TRAINS: Tool = {
  name: 'find_trains',
  description: 'Railway departures from a station',
  schema: { type: 'object', properties: { station: { type: 'string' } }, required: ['station'] },
}
const MOON: Tool = { name: 'moon_phase', description: 'The phase that the moon is in' }

const SPOKEN_OF: Line = { user: 'What is the weather in Oslo?' }
const NOT_SPOKEN_OF: Line = { user: 'Sing me a shanty.' }
const BOTH: Line = { user: 'Compare the weather with the trains from Oslo.' }

const namesOf = ({ toolCalls }: Reply) => toolCalls.map(({ name }) => name)

function expectValid(reply: Reply, tools: readonly Tool[]): void {
  for (const call of reply.toolCalls) {
    const schema = tools.find(({ name }) => name === call.name)?.schema
    expect(z.fromJSONSchema(schema).safeParse(JSON.parse(call.arguments)).error).toBeUndefined()
  }
}

describe('a choice left to the model', () => {
  eachWay('a tool that the question speaks of is called, with arguments that fit its schema', async (pair, stream) => {
    const reply = await ask(stage, pair, { messages: [SPOKEN_OF], tools: [WEATHER, TRAINS], stream })
    expect(namesOf(reply)).toEqual(['get_weather'])
    expect(reply.finish).toBe('tool_calls')
    expectValid(reply, [WEATHER])
    expect(reply.toolCalls[0]?.id).toMatch(/^[A-Za-z0-9_-]+$/)
    expect(reply.usage.output).toBeGreaterThan(0)
  })

  eachWay('saying auto is the same as saying nothing', async (pair, stream) => {
    const question = { messages: [SPOKEN_OF], tools: [WEATHER, TRAINS], stream, toolChoice: 'auto' as const }
    expect(namesOf(await ask(stage, pair, question))).toEqual(['get_weather'])
  })

  eachWay('a question about something else is answered in words', async (pair, stream) => {
    const reply = await ask(stage, pair, { messages: [NOT_SPOKEN_OF], tools: [WEATHER, TRAINS], stream })
    expect({ names: namesOf(reply), finish: reply.finish }).toEqual({ names: [], finish: 'stop' })
    expect(reply.text).toContain('Sing me a shanty.')
  })

  eachWay('a call without text has null content on chat and no text block on messages', async (pair, stream) => {
    const { raw } = await ask(stage, pair, { messages: [SPOKEN_OF], tools: [WEATHER], stream })
    if (pair.client === 'chat') expect(raw.choices[0].message.content).toBeNull()
    else expect(raw.content.map((block: JsonBody) => block.type)).toEqual(['tool_use'])
  })
})

describe('a choice made by the caller', () => {
  eachWay('none forbids a call', async (pair, stream) => {
    const reply = await ask(stage, pair, { messages: [SPOKEN_OF], tools: [WEATHER], toolChoice: 'none', stream })
    expect({ names: namesOf(reply), finish: reply.finish }).toEqual({ names: [], finish: 'stop' })
  })

  eachWay('required (any) demands a call', async (pair, stream) => {
    const question = { messages: [NOT_SPOKEN_OF], tools: [WEATHER, TRAINS], toolChoice: 'any' as const, stream }
    const reply = await ask(stage, pair, question)
    expect(reply.toolCalls.length).toBeGreaterThan(0)
    expect(reply.finish).toBe('tool_calls')
    expectValid(reply, [WEATHER, TRAINS])
  })

  eachWay('a named tool is called whatever the question speaks of', async (pair, stream) => {
    const toolChoice = { name: 'find_trains' }
    const reply = await ask(stage, pair, { messages: [SPOKEN_OF], tools: [WEATHER, TRAINS], toolChoice, stream })
    expect({ names: namesOf(reply), finish: reply.finish }).toEqual({ names: ['find_trains'], finish: 'tool_calls' })
    expectValid(reply, [TRAINS])
  })

  eachPair('a named tool that does not exist is refused', async pair => {
    const toolChoice = { name: 'no_such_tool' }
    const failure = await failureOf(ask(stage, pair, { messages: [SPOKEN_OF], tools: [WEATHER], toolChoice }))
    expect(failure.status).toBe(400)
  })

  eachWay('two tools may be called at once', async (pair, stream) => {
    const reply = await ask(stage, pair, { messages: [BOTH], tools: [WEATHER, TRAINS], stream })
    expect(namesOf(reply).toSorted()).toEqual(['find_trains', 'get_weather'])
    expect(new Set(reply.toolCalls.map(({ id }) => id)).size).toBe(2)
    expectValid(reply, [WEATHER, TRAINS])
  })

  eachWay('with parallel calls off there is one', async (pair, stream) => {
    const question = { messages: [BOTH], tools: [WEATHER, TRAINS], parallel: false, stream }
    expect(namesOf(await ask(stage, pair, question))).toHaveLength(1)
    const demanded = { ...question, toolChoice: 'any' as const }
    expect(namesOf(await ask(stage, pair, demanded))).toHaveLength(1)
  })

  eachWay(
    'parallel calls may be allowed in so many words',
    async (pair, stream) => {
      const question = { messages: [BOTH], tools: [WEATHER, TRAINS], parallel: true, stream }
      expect(namesOf(await ask(stage, pair, question))).toHaveLength(2)
    },
    CHAT_CLIENTS,
  )
})

describe('a tool without parameters', () => {
  eachWay('its arguments are an empty object, never an empty text', async (pair, stream) => {
    const messages = [{ user: 'Which phase is the moon in?' }]
    const { toolCalls, finish } = await ask(stage, pair, { messages, tools: [MOON], stream })
    expect(toolCalls).toEqual([{ id: expect.any(String), name: 'moon_phase', arguments: '{}' }])
    expect(finish).toBe('tool_calls')
  })
})

describe('a round trip', () => {
  eachWay('the result of a call is what the next answer speaks of', async (pair, stream) => {
    const tools = [WEATHER]
    const { toolCalls } = await ask(stage, pair, { messages: [SPOKEN_OF], tools, stream })
    const results = toolCalls.map(({ id }) => ({ id, text: 'hail and 3 degrees' }))
    const messages = [SPOKEN_OF, { assistant: '', calls: toolCalls }, { results }]
    const reply = await ask(stage, pair, { messages, tools, stream })
    expect(reply.text).toContain('hail and 3 degrees')
    expect({ names: namesOf(reply), finish: reply.finish }).toEqual({ names: [], finish: 'stop' })
  })

  eachWay('two results answer two calls, each its own', async (pair, stream) => {
    const tools = [WEATHER, TRAINS]
    const { toolCalls } = await ask(stage, pair, { messages: [BOTH], tools, stream })
    const results = toolCalls.map(({ id, name }) => ({ id, text: `the answer of ${name}` }))
    const messages = [BOTH, { assistant: 'Let me look.', calls: toolCalls }, { results }]
    const { text } = await ask(stage, pair, { messages, tools, stream })
    expect(text).toContain('The tool get_weather returned: the answer of get_weather')
    expect(text).toContain('The tool find_trains returned: the answer of find_trains')
  })

  eachWay('a later question of the same conversation may lead to another call', async (pair, stream) => {
    const calls = [{ id: 'call_1', name: 'get_weather', arguments: '{"city":"Oslo"}' }]
    const messages: Line[] = [
      SPOKEN_OF,
      { assistant: '', calls },
      { results: [{ id: 'call_1', text: 'rain' }] },
      { assistant: 'It rains.' },
      { user: 'And which trains leave?' },
    ]
    expect(namesOf(await ask(stage, pair, { messages, tools: [WEATHER, TRAINS], stream }))).toEqual(['find_trains'])
  })

  eachWay('a result without text is a result', async (pair, stream) => {
    const calls = [{ id: 'call_1', name: 'get_weather', arguments: '{}' }]
    const messages = [SPOKEN_OF, { assistant: '', calls }, { results: [{ id: 'call_1', text: '' }] }]
    expect((await ask(stage, pair, { messages, tools: [WEATHER], stream })).finish).toBe('stop')
  })

  eachWay('a model that thinks first calls all the same', async (pair, stream) => {
    const model = stage.model(pair.upstream, isReasoning)
    const tools = [WEATHER]
    const { toolCalls } = await ask(stage, pair, { model, messages: [SPOKEN_OF], tools, stream })
    const results = toolCalls.map(({ id }) => ({ id, text: 'fog' }))
    const messages = [SPOKEN_OF, { assistant: '', calls: toolCalls }, { results }]
    expect((await ask(stage, pair, { model, messages, tools, stream })).text).toContain('fog')
  })
})
