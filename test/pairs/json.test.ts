import { describe, expect } from 'bun:test'
import { z } from 'zod'
import {
  ask,
  CHAT_CLIENTS,
  eachPair,
  eachWay,
  isReasoning,
  type Line,
  MESSAGES_CLIENTS,
  type Reply,
  type Tool,
  useSandbox,
} from './pairs.ts'

const stage = useSandbox()

const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    age: { type: 'integer' },
    kind: { type: 'string', enum: ['ship', 'boat'] },
    crew: { type: 'array', items: { type: 'string' } },
  },
  required: ['name', 'age', 'kind', 'crew'],
  additionalProperties: false,
}
const WEATHER: Tool = {
  name: 'get_weather',
  description: 'The weather of a city',
  schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const SHIP: readonly Line[] = [{ user: 'Describe a ship.' }]
const RAIN: readonly Line[] = [{ user: 'How is the weather in Bergen?' }]
const AFTER_CALL: readonly Line[] = [
  ...RAIN,
  { assistant: '', calls: [{ id: 'call_1', name: 'get_weather', arguments: '{"city":"Bergen"}' }] },
  { results: [{ id: 'call_1', text: 'rain' }] },
]

function expectObject({ text, finish, toolCalls }: Reply): void {
  expect(z.record(z.string(), z.unknown()).safeParse(JSON.parse(text)).error).toBeUndefined()
  expect({ finish, toolCalls }).toEqual({ finish: 'stop', toolCalls: [] })
}

function expectShip({ text, finish, toolCalls }: Reply): void {
  expect(z.fromJSONSchema(SCHEMA as z.core.JSONSchema.JSONSchema).safeParse(JSON.parse(text)).error).toBeUndefined()
  expect({ finish, toolCalls }).toEqual({ finish: 'stop', toolCalls: [] })
}

describe('json_object', () => {
  const json = true

  eachWay(
    'the content is a JSON object',
    async (pair, stream) => expectObject(await ask(stage, pair, { messages: SHIP, json, stream })),
    CHAT_CLIENTS,
  )

  eachWay(
    'the content is a JSON object when there are tools that nobody speaks of',
    async (pair, stream) => expectObject(await ask(stage, pair, { messages: SHIP, json, tools: [WEATHER], stream })),
    CHAT_CLIENTS,
  )

  eachWay(
    'a tool that the question speaks of is still called, and no other is seen',
    async (pair, stream) => {
      const { toolCalls, finish } = await ask(stage, pair, { messages: RAIN, json, tools: [WEATHER], stream })
      expect(toolCalls.map(({ name }) => name)).toEqual(['get_weather'])
      expect(z.object({ city: z.string() }).safeParse(JSON.parse(toolCalls[0]?.arguments ?? '')).success).toBe(true)
      expect(finish).toBe('tool_calls')
    },
    CHAT_CLIENTS,
  )

  eachWay(
    'the content is a JSON object after a tool has answered',
    async (pair, stream) =>
      expectObject(await ask(stage, pair, { messages: AFTER_CALL, json, tools: [WEATHER], stream })),
    CHAT_CLIENTS,
  )

  eachWay(
    'the content is a JSON object with the tools switched off',
    async (pair, stream) => {
      const question = { messages: RAIN, json, tools: [WEATHER], toolChoice: 'none' as const, stream }
      expectObject(await ask(stage, pair, question))
    },
    CHAT_CLIENTS,
  )

  eachWay(
    'a model that thinks keeps its thoughts out of the object',
    async (pair, stream) => {
      const model = stage.model(pair.upstream, isReasoning)
      expectObject(await ask(stage, pair, { model, messages: SHIP, json, stream }))
    },
    CHAT_CLIENTS,
  )

  eachPair(
    'an answer that the cap cut says so',
    async pair => {
      expect((await ask(stage, pair, { messages: SHIP, json, maxTokens: 3 })).finish).toBe('length')
    },
    CHAT_CLIENTS,
  )
})

describe('a schema', () => {
  eachWay('the content fits it', async (pair, stream) =>
    expectShip(await ask(stage, pair, { messages: SHIP, json: SCHEMA, stream })),
  )

  eachWay('the content fits it when there are tools that nobody speaks of', async (pair, stream) =>
    expectShip(await ask(stage, pair, { messages: SHIP, json: SCHEMA, tools: [WEATHER], stream })),
  )

  eachWay('a tool that the question speaks of is still called, and no other is seen', async (pair, stream) => {
    const reply = await ask(stage, pair, { messages: RAIN, json: SCHEMA, tools: [WEATHER], stream })
    expect(reply.toolCalls.map(({ name }) => name)).toEqual(['get_weather'])
    expect(reply.finish).toBe('tool_calls')
  })

  eachWay('the content fits it after a tool has answered', async (pair, stream) =>
    expectShip(await ask(stage, pair, { messages: AFTER_CALL, json: SCHEMA, tools: [WEATHER], stream })),
  )

  eachWay('a model that thinks fits it too', async (pair, stream) => {
    const model = stage.model(pair.upstream, isReasoning)
    expectShip(await ask(stage, pair, { model, messages: SHIP, json: SCHEMA, stream }))
  })

  eachWay(
    'the JSON is one text block and nothing else',
    async (pair, stream) => {
      const { raw } = await ask(stage, pair, { messages: SHIP, json: SCHEMA, stream })
      expect(raw.content.map(({ type }: { type: string }) => type)).toEqual(['text'])
    },
    MESSAGES_CLIENTS,
  )
})
