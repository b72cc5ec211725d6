import { describe, expect, test } from 'bun:test'
import { ask, chatChunks, deltasOf, messagesEvents, PROTOCOLS, post, say, streamText, useSandbox } from './support.ts'

const sandbox = useSandbox()
const LENGTH = { chat: 'length', messages: 'max_tokens' }
const END = { chat: 'stop', messages: 'end_turn' }
const STOP = { chat: 'stop', messages: 'stop_sequence' }

for (const protocol of PROTOCOLS) {
  const stopField = protocol === 'chat' ? 'stop' : 'stop_sequences'

  describe(protocol, () => {
    test('the answer reflects the question, the model and the first words of the instructions', async () => {
      const turn = { user: 'Where is my umbrella?', system: 'You are a pirate.', model: 'acme/swift-2' }
      const { text, stop } = await say(sandbox.url, protocol, turn)
      expect(text).toContain('You said: "Where is my umbrella?"')
      expect(text).toContain('acme/swift-2')
      expect(text).toContain('You are a pirate.')
      expect(stop).toBe(END[protocol])
    })

    test('the same request gets the same answer, byte for byte, and another request gets other ids', async () => {
      const body = ask(protocol, { user: 'Again?', model: 'acme/think' })
      const read = async (stream: boolean) => (await post(sandbox.url, protocol, { ...body, stream })).text()
      expect(await read(false)).toBe(await read(false))
      expect(await read(true)).toBe(await read(true))

      const one = await say(sandbox.url, protocol, { user: 'Again?' })
      const other = await say(sandbox.url, protocol, { user: 'Again!' })
      expect(one.id).not.toBe(other.id)
    })

    test('a question in parts or blocks is read like a plain one', async () => {
      const parts = [
        { type: 'text', text: 'First part.' },
        { type: 'text', text: 'Second part.' },
      ]
      const { text } = await say(sandbox.url, protocol, {
        user: '',
        more: { messages: [{ role: 'user', content: parts }] },
      })
      expect(text).toContain('First part. Second part.')
    })

    test('a long question is shortened in the answer', async () => {
      const { text } = await say(sandbox.url, protocol, { user: 'word '.repeat(5000) })
      expect(text.length).toBeLessThan(400)
      expect(text).toContain('…')
    })

    test('max_tokens cuts the text and says so', async () => {
      const whole = await say(sandbox.url, protocol, { user: 'Tell me more' })
      const cut = await say(sandbox.url, protocol, { user: 'Tell me more', more: { max_tokens: 5 } })
      expect(cut.stop).toBe(LENGTH[protocol])
      expect(cut.outputTokens).toBe(5)
      expect(cut.text).not.toBe('')
      expect(whole.text.startsWith(cut.text)).toBe(true)
    })

    test('a cap that the answer just fits in does not cut it', async () => {
      const whole = await say(sandbox.url, protocol, { user: 'Fit in' })
      const capped = await say(sandbox.url, protocol, { user: 'Fit in', more: { max_tokens: whole.outputTokens } })
      expect(capped.text).toBe(whole.text)
      expect(capped.stop).toBe(END[protocol])
    })

    test('a stop sequence ends the text before it', async () => {
      const { text, stop } = await say(sandbox.url, protocol, {
        user: 'Stop please',
        more: { [stopField]: ['never said', ' sandbox'] },
      })
      expect(text).toEndWith('This is the')
      expect(stop).toBe(STOP[protocol])
    })

    test('a cap before the stop sequence wins', async () => {
      const { stop } = await say(sandbox.url, protocol, {
        user: 'Stop please',
        more: { [stopField]: [' sandbox'], max_tokens: 2 },
      })
      expect(stop).toBe(LENGTH[protocol])
    })

    test('one token is one delta of a few characters, and usage counts them', async () => {
      const turn = { user: 'Count with me: 😀 naïve façade 日本語のテキスト' }
      const { text, outputTokens } = await say(sandbox.url, protocol, turn)
      const deltas = deltasOf(await streamText(sandbox.url, protocol, turn), protocol)
      expect(deltas.length).toBe(outputTokens)
      expect(deltas.join('')).toBe(text)
      expect(Math.max(...deltas.map(delta => [...delta].length))).toBeLessThanOrEqual(7)
    })

    test('input tokens count instructions, messages and tools', async () => {
      const tool = {
        chat: { type: 'function', function: { name: 'noop' } },
        messages: { name: 'noop', input_schema: { type: 'object' } },
      }
      const bare = await say(sandbox.url, protocol, { user: 'Hello you' })
      const instructed = await say(sandbox.url, protocol, { user: 'Hello you', system: 'Be very kind' })
      const equipped = await say(sandbox.url, protocol, { user: 'Hello you', more: { tools: [tool[protocol]] } })
      expect(bare.inputTokens).toBe(2)
      expect(instructed.inputTokens).toBe(5)
      expect(equipped.inputTokens).toBeGreaterThan(bare.inputTokens)
    })

    test('a system text that asks for a JSON object gets one', async () => {
      const turn = { user: 'What is up?', system: 'Reply with one JSON object and nothing else.' }
      const { text } = await say(sandbox.url, protocol, turn)
      expect(JSON.parse(text)).toMatchObject({ question: 'What is up?' })
    })

    test('JSON is streamed in small deltas and cut by max_tokens like any text', async () => {
      const turn = { user: 'What is up?', system: 'Reply with one JSON object.' }
      const deltas = deltasOf(await streamText(sandbox.url, protocol, turn), protocol)
      expect(deltas.length).toBeGreaterThan(10)
      expect(JSON.parse(deltas.join(''))).toHaveProperty('answer')

      const cut = await say(sandbox.url, protocol, { ...turn, more: { max_tokens: 4 } })
      expect(cut.stop).toBe(LENGTH[protocol])
      expect(() => JSON.parse(cut.text)).toThrow()
    })

    test('a reasoning model shows a thought and bills more than 200 tokens for it, whatever the cap', async () => {
      for (const user of ['One', 'Two', 'Three', 'Four', 'Five']) {
        const seen = await say(sandbox.url, protocol, { user, model: 'acme/think', more: { max_tokens: 12 } })
        expect(seen.reasoning).toContain(user)
        expect(seen.outputTokens).toBeGreaterThan(200 + 12)
        expect(seen.outputTokens).toBeLessThan(300 + 12)
        expect(seen.stop).toBe(LENGTH[protocol])
      }
    })

    test('a reasoning model that is told not to think does not', async () => {
      const off = protocol === 'chat' ? { reasoning_effort: 'none' } : { thinking: { type: 'disabled' } }
      const seen = await say(sandbox.url, protocol, { user: 'Quick!', model: 'acme/think', more: off })
      expect(seen.reasoning).toBe('')
      expect(seen.outputTokens).toBeLessThan(100)
    })

    test('any credential or none is accepted', async () => {
      const body = ask(protocol, { user: 'Hi' })
      for (const headers of [{}, { authorization: 'Bearer whatever' }, { 'x-api-key': 'whatever' }]) {
        expect((await post(sandbox.url, protocol, body, { headers })).status).toBe(200)
      }
    })
  })
}

describe('chat bodies', () => {
  test('a body has every native member', async () => {
    const response = await post(sandbox.url, 'chat', ask('chat', { user: 'Hi', model: 'acme/think' }))
    expect(await response.json()).toEqual({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f]{24}$/),
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'acme/think',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: expect.any(String),
            refusal: null,
            reasoning_content: expect.any(String),
          },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 1,
        completion_tokens: expect.any(Number),
        total_tokens: expect.any(Number),
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: expect.any(Number) },
      },
    })
  })

  test('usage adds up, and only reasoning models speak of reasoning tokens', async () => {
    const usageOf = async (model: string) => {
      const response = await post(sandbox.url, 'chat', ask('chat', { user: 'Add up', model }))
      return JSON.parse(await response.text()).usage
    }
    const plain = await usageOf('acme/swift')
    expect(plain.total_tokens).toBe(plain.prompt_tokens + plain.completion_tokens)
    expect(plain.completion_tokens_details).toBeUndefined()
    const thinking = await usageOf('acme/think')
    expect(thinking.completion_tokens).toBeGreaterThan(thinking.completion_tokens_details.reasoning_tokens)
  })

  test('max_completion_tokens wins over max_tokens', async () => {
    const more = { max_tokens: 3, max_completion_tokens: 7 }
    expect((await say(sandbox.url, 'chat', { user: 'Which?', more })).outputTokens).toBe(7)
  })

  test('stop may be a plain string', async () => {
    const { text } = await say(sandbox.url, 'chat', { user: 'Stop', more: { stop: ' sandbox' } })
    expect(text).toEndWith('This is the')
  })

  test('json_object gives one JSON object, even under a reasoning model', async () => {
    const more = { response_format: { type: 'json_object' } }
    for (const model of ['acme/swift', 'acme/think']) {
      const { text } = await say(sandbox.url, 'chat', { user: 'Give me "JSON"', model, more })
      expect(JSON.parse(text).question).toBe('Give me "JSON"')
    }
  })

  test('json_schema gives an object of that schema', async () => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' }, hot: { type: 'boolean' } },
      required: ['city', 'hot'],
    }
    const more = { response_format: { type: 'json_schema', json_schema: { name: 'place', schema } } }
    const { text } = await say(sandbox.url, 'chat', { user: 'How is Rome?', more })
    expect(JSON.parse(text)).toEqual({ city: 'Rome', hot: true })
  })

  test('developer messages are instructions, too', async () => {
    const messages = [
      { role: 'developer', content: 'Speak softly' },
      { role: 'user', content: 'Hi' },
    ]
    expect((await say(sandbox.url, 'chat', { user: '', more: { messages } })).text).toContain('Speak softly')
  })

  test('unknown fields are accepted', async () => {
    expect((await say(sandbox.url, 'chat', { user: 'Hi', more: { seed: 1, whatever: [] } })).text).toContain('Hi')
  })
})

describe('messages bodies', () => {
  test('a body has every native member', async () => {
    const response = await post(sandbox.url, 'messages', ask('messages', { user: 'Hi', model: 'acme/think' }))
    expect(await response.json()).toEqual({
      id: expect.stringMatching(/^msg_[0-9a-f]{24}$/),
      type: 'message',
      role: 'assistant',
      model: 'acme/think',
      content: [
        { type: 'thinking', thinking: expect.any(String), signature: expect.stringMatching(/^[A-Za-z0-9+/]{20,}=*$/) },
        { type: 'text', text: expect.any(String) },
      ],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 1,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: expect.any(Number),
        output_tokens_details: { thinking_tokens: expect.any(Number) },
      },
    })
  })

  test('the matched stop sequence is named, in bodies and in streams', async () => {
    const turn = { user: 'Stop', more: { stop_sequences: ['\n\nHuman', ' sandbox'] } }
    const response = await post(sandbox.url, 'messages', ask('messages', turn))
    expect(await response.json()).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: ' sandbox' })
    const ending = (await messagesEvents(sandbox.url, turn)).find(({ type }) => type === 'message_delta')
    expect(ending?.delta).toEqual({ stop_reason: 'stop_sequence', stop_sequence: ' sandbox' })
  })

  test('output_config.format gives an object of that schema', async () => {
    const schema = { type: 'object', properties: { total: { type: 'integer', minimum: 7 } }, required: ['total'] }
    const more = { output_config: { format: { type: 'json_schema', schema } } }
    const { text } = await say(sandbox.url, 'messages', { user: 'How many?', more })
    expect(JSON.parse(text)).toEqual({ total: 7 })
  })

  test('system may be a list of text blocks', async () => {
    const system = [{ type: 'text', text: 'Speak softly', cache_control: { type: 'ephemeral' } }]
    expect((await say(sandbox.url, 'messages', { user: 'Hi', more: { system } })).text).toContain('Speak softly')
  })
})

test('both protocols say the same thing to the same question', async () => {
  const turn = { user: 'Who are you?', system: 'Be brief.', model: 'acme/think' }
  const chat = await say(sandbox.url, 'chat', turn)
  const messages = await say(sandbox.url, 'messages', turn)
  expect(chat.text).toBe(messages.text)
  expect(chat.reasoning).toBe(messages.reasoning)
  expect(chat.inputTokens).toBe(messages.inputTokens)
})

test('a stream says what the body says', async () => {
  const turn = { user: 'Same?', model: 'acme/think' }
  const body = await say(sandbox.url, 'chat', turn)
  const deltas = (await chatChunks(sandbox.url, turn)).flatMap(({ choices }) => choices.map(({ delta }) => delta))
  expect(deltas.map(({ content }) => content ?? '').join('')).toBe(body.text)
  expect(deltas.map(({ reasoning_content }) => reasoning_content ?? '').join('')).toBe(body.reasoning)
})
