import { describe, expect } from 'bun:test'
import OpenAI from 'openai'
import { ask, CHAT_CLIENTS, eachPair, eachWay, failureOf, useSandbox } from './pairs.ts'

const stage = useSandbox()

const LONG = [{ user: '[[tokens 60]] Tell me everything about tides.' }]
const WEATHER = {
  name: 'get_weather',
  description: 'The weather of a city',
  schema: {
    type: 'object',
    properties: { city: { type: 'string' }, unit: { enum: ['celsius', 'fahrenheit'] } },
    required: ['city', 'unit'],
  },
}

describe('a cap', () => {
  eachWay('max_tokens cuts the text and says so', async (pair, stream) => {
    const whole = await ask(stage, pair, { messages: LONG, maxTokens: 500, stream })
    const cut = await ask(stage, pair, { messages: LONG, maxTokens: 5, stream })
    expect(whole.finish).toBe('stop')
    expect(cut.finish).toBe('length')
    expect(cut.text.length).toBeGreaterThan(0)
    expect(cut.text.length).toBeLessThan(whole.text.length)
    expect(whole.text).toStartWith(cut.text)
    expect(cut.usage.output).toBe(5)
  })

  eachWay(
    'max_completion_tokens does the same',
    async (pair, stream) => {
      const cut = await ask(stage, pair, { messages: LONG, more: { max_completion_tokens: 5 }, stream })
      expect({ finish: cut.finish, output: cut.usage.output }).toEqual({ finish: 'length', output: 5 })
    },
    CHAT_CLIENTS,
  )

  eachWay(
    'no cap at all lets the model finish',
    async (pair, stream) => {
      const { finish, usage } = await ask(stage, pair, { messages: [{ user: '[[tokens 700]] Go on.' }], stream })
      expect({ finish, output: usage.output }).toEqual({ finish: 'stop', output: 700 })
    },
    CHAT_CLIENTS,
  )

  eachWay('an answer of exactly the cap is not cut', async (pair, stream) => {
    const { finish } = await ask(stage, pair, { messages: LONG, maxTokens: 60, stream })
    expect(finish).toBe('stop')
  })

  eachWay('a tool call that the cap cut is reported as cut, not as a call to run', async (pair, stream) => {
    const question = { messages: [{ user: 'The weather in Reykjavik, please.' }], tools: [WEATHER], stream }
    const { finish } = await ask(stage, pair, { ...question, maxTokens: 2 })
    expect(finish).toBe('length')
  })

  eachPair('a cap of zero is refused with the name of the field', async pair => {
    const failure = await failureOf(ask(stage, pair, { messages: LONG, maxTokens: 0 }))
    expect({ status: failure.status, error: bodyOf(failure) }).toMatchObject({
      status: 400,
      error: { code: 'invalid_request', param: 'max_tokens', message: expect.stringContaining('max_tokens') },
    })
  })

  eachPair(
    'max_completion_tokens of zero is refused too',
    async pair => {
      const failure = await failureOf(ask(stage, pair, { messages: LONG, more: { max_completion_tokens: 0 } }))
      expect(failure).toBeInstanceOf(OpenAI.BadRequestError)
      expect(failure.param).toBe('max_completion_tokens')
    },
    CHAT_CLIENTS,
  )
})

/** The chat client unwraps `error`, the messages client hands over the whole body. */
function bodyOf({ error }: { error: { error?: unknown } }): unknown {
  return error.error ?? error
}
