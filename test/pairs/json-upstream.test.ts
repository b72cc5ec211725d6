import { describe, expect } from 'bun:test'
import { ask, CHAT_CLIENTS, eachPair, eachWay, type Pair, useScript } from './pairs.ts'
import { PLAIN_USAGE, saying } from './wire.ts'

const stage = useScript()

const SCHEMA = {
  type: 'object',
  properties: { harbour_name: { type: 'string' } },
  required: ['harbour_name'],
  additionalProperties: false,
}
const TOOL = { name: 'count', description: 'Counts', schema: { type: 'object', properties: {} } }
const QUESTION = { system: 'Speak like a pirate.', messages: [{ user: 'Name a harbour.' }] }
const JSON_TEXT = '{"harbour_name":"Ålesund"}'
const TO_MESSAGES: readonly Pair[] = [{ client: 'chat', upstream: 'messages' }]

describe('a wish for JSON', () => {
  eachWay('the schema, the system prompt and the question reach the upstream', async (pair, stream) => {
    stage.answer = saying({ text: JSON_TEXT, finish: 'stop', usage: PLAIN_USAGE })
    const { text } = await ask(stage, pair, { ...QUESTION, json: SCHEMA, stream })
    expect(JSON.parse(text)).toEqual({ harbour_name: 'Ålesund' })
    for (const word of ['harbour_name', 'pirate', 'Name a harbour.']) expect(stage.visit.text).toContain(word)
  })

  eachWay('the schema reaches the upstream beside the tools of the caller', async (pair, stream) => {
    stage.answer = saying({ text: JSON_TEXT, finish: 'stop', usage: PLAIN_USAGE })
    const { text } = await ask(stage, pair, { ...QUESTION, json: SCHEMA, tools: [TOOL], stream })
    expect(JSON.parse(text)).toEqual({ harbour_name: 'Ålesund' })
    expect(stage.visit.text).toContain('harbour_name')
    expect(stage.visit.text).toContain('"count"')
  })

  eachPair('it arrives in the words of the upstream', async pair => {
    stage.answer = saying({ text: JSON_TEXT, finish: 'stop', usage: PLAIN_USAGE })
    await ask(stage, pair, { ...QUESTION, json: SCHEMA })
    const { response_format, output_config } = stage.visit.body
    if (pair.upstream === 'chat') {
      expect(response_format).toMatchObject({ type: 'json_schema', json_schema: { schema: SCHEMA } })
    } else if (pair.client === 'messages') {
      expect(output_config.format).toEqual({ type: 'json_schema', schema: SCHEMA })
    }
    if (pair.client === 'chat' && pair.upstream === 'messages') expect(response_format).toBeUndefined()
  })

  eachWay(
    'json_object never reaches an upstream that does not know it, and the system prompt does',
    async (pair, stream) => {
      stage.answer = saying({ text: JSON_TEXT, finish: 'stop', usage: PLAIN_USAGE })
      await ask(stage, pair, { ...QUESTION, json: true, stream })
      expect(stage.visit.body.response_format).toBeUndefined()
      expect(stage.visit.text).not.toContain('json_object')
      expect(stage.visit.text).toContain('pirate')
    },
    TO_MESSAGES,
  )

  for (const { what, said } of [
    { what: 'in a fence', said: `\`\`\`json\n${JSON_TEXT}\n\`\`\`` },
    { what: 'with a preface', said: `Here you are:\n${JSON_TEXT}` },
    { what: 'with an afterword', said: `${JSON_TEXT}\nAnything else?` },
  ]) {
    eachWay(
      `a JSON object that the model wraps ${what} is unwrapped`,
      async (pair, stream) => {
        stage.answer = saying({ text: said, finish: 'stop', usage: PLAIN_USAGE })
        const { text, finish } = await ask(stage, pair, { ...QUESTION, json: true, tools: [TOOL], stream })
        expect(JSON.parse(text)).toEqual({ harbour_name: 'Ålesund' })
        expect(finish).toBe('stop')
      },
      TO_MESSAGES,
    )
  }

  eachWay(
    'a tool call of the caller comes through beside a wish for JSON',
    async (pair, stream) => {
      const calls = [{ id: 'call_1', name: 'count', arguments: '{}' }]
      stage.answer = saying({ calls, finish: 'tool_calls', usage: PLAIN_USAGE })
      const { toolCalls, text, finish } = await ask(stage, pair, { ...QUESTION, json: true, tools: [TOOL], stream })
      expect({ toolCalls, text, finish }).toEqual({ toolCalls: calls, text: '', finish: 'tool_calls' })
    },
    CHAT_CLIENTS,
  )
})
