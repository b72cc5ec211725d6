import { describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { useSandbox } from './support.ts'

const sandbox = useSandbox()

const openai = () => new OpenAI({ baseURL: sandbox.url, apiKey: 'any', maxRetries: 0 })
const anthropic = () => new Anthropic({ baseURL: sandbox.url.replace('/v1', ''), apiKey: 'any', maxRetries: 0 })

const CITY = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] }
const FUNCTION = { type: 'function' as const, function: { name: 'get_weather', parameters: CITY } }
const TOOL = { name: 'get_weather', input_schema: CITY }

const QUESTION = { role: 'user' as const, content: 'What is the weather in Paris?' }
const HELLO = { role: 'user' as const, content: 'Hello' }

/** The clients' promises are lazy: only a `then` starts them. */
function failureOf(answer: PromiseLike<unknown>): PromiseLike<unknown> {
  return answer.then(
    () => undefined,
    error => error,
  )
}

describe('the official chat client', () => {
  test('reads a text', async () => {
    const completion = await openai().chat.completions.create({ model: 'acme/swift', messages: [HELLO] })
    expect(completion.choices[0]?.message.content).toContain('Hello')
    expect(completion.usage?.total_tokens).toBeGreaterThan(0)
  })

  test('reads a stream', async () => {
    const params = { model: 'acme/think', messages: [HELLO], stream_options: { include_usage: true } }
    const final = await openai().chat.completions.stream(params).finalChatCompletion()
    expect(final.choices[0]?.message.content).toContain('Hello')
    expect(final.choices[0]?.finish_reason).toBe('stop')
    expect(final.usage?.completion_tokens).toBeGreaterThan(200)
  })

  test('completes a round trip with a tool, in bodies', async () => {
    const params = { model: 'acme/swift', tools: [FUNCTION] }
    const first = await openai().chat.completions.create({ ...params, messages: [QUESTION] })
    const message = first.choices[0]?.message
    const call = message?.tool_calls?.[0]
    if (message === undefined || call?.type !== 'function') throw new Error('no call')
    expect(JSON.parse(call.function.arguments)).toEqual({ city: 'Paris' })

    const result = { role: 'tool' as const, tool_call_id: call.id, content: '21 degrees' }
    const second = await openai().chat.completions.create({ ...params, messages: [QUESTION, message, result] })
    expect(second.choices[0]?.message.content).toContain('The tool get_weather returned: 21 degrees')
  })

  test('completes a round trip with a tool, in streams', async () => {
    const runner = openai().chat.completions.runTools({
      model: 'acme/think',
      stream: true,
      messages: [QUESTION],
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: 'Weather of a city',
            parameters: CITY,
            parse: JSON.parse,
            function: ({ city }: { city: string }) => `rain in ${city}`,
          },
        },
      ],
    })
    expect(await runner.finalContent()).toContain('rain in Paris')
  })

  test('sees errors by their class, and a cut stream as a failure', async () => {
    const say = (content: string) => ({ model: 'acme/swift', messages: [{ role: 'user' as const, content }] })
    const limited = await failureOf(openai().chat.completions.create(say('[[error 429]]')))
    expect(limited).toBeInstanceOf(OpenAI.RateLimitError)

    const stream = openai().chat.completions.stream(say('[[cut 2]]'))
    let text = ''
    stream.on('content', delta => {
      text += delta
    })
    expect(await failureOf(stream.finalChatCompletion())).toBeInstanceOf(Error)
    expect(text).toBe('You said')
  })
})

describe('the official messages client', () => {
  const params = { model: 'acme/swift', max_tokens: 1000 }

  test('reads a text', async () => {
    const message = await anthropic().messages.create({ ...params, messages: [HELLO] })
    expect(message.content).toEqual([expect.objectContaining({ type: 'text', text: expect.stringContaining('Hello') })])
    expect(message.stop_reason).toBe('end_turn')
  })

  test('reads a stream', async () => {
    const request = { ...params, model: 'acme/think', messages: [HELLO] }
    const message = await anthropic().messages.stream(request).finalMessage()
    expect(message.content.map(block => block.type)).toEqual(['thinking', 'text'])
    expect(message.usage.output_tokens).toBeGreaterThan(200)
  })

  test('completes a round trip with a tool, in bodies and in streams', async () => {
    const request = { ...params, model: 'acme/think', tools: [TOOL] }
    const bodies = (messages: Anthropic.MessageParam[]) => anthropic().messages.create({ ...request, messages })
    const streams = (messages: Anthropic.MessageParam[]) =>
      anthropic()
        .messages.stream({ ...request, messages })
        .finalMessage()

    for (const ask of [bodies, streams]) {
      const first = await ask([QUESTION])
      const call = first.content.find(block => block.type === 'tool_use')
      if (call === undefined) throw new Error('no call')
      expect(call.input).toEqual({ city: 'Paris' })
      expect(first.stop_reason).toBe('tool_use')

      const result = { type: 'tool_result' as const, tool_use_id: call.id, content: '21 degrees' }
      const second = await ask([
        QUESTION,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [result] },
      ])
      const text = second.content.find(block => block.type === 'text')?.text
      expect(text).toContain('The tool get_weather returned: 21 degrees')
    }
  })

  test('sees errors by their class, and a cut stream as a failure', async () => {
    const say = (content: string) => ({ ...params, messages: [{ role: 'user' as const, content }] })
    const limited = await failureOf(anthropic().messages.create(say('[[error 429]]')))
    expect(limited).toBeInstanceOf(Anthropic.RateLimitError)

    const stream = anthropic().messages.stream(say('[[cut 2]]'))
    let text = ''
    stream.on('text', delta => {
      text += delta
    })
    expect(await failureOf(stream.finalMessage())).toBeInstanceOf(Error)
    expect(text).toBe('You said')
  })
})
