import { describe, expect, test } from 'bun:test'
import { ask, chatClient, eachPair, eachWay, LIKE, messagesClient, useSandbox } from './pairs.ts'

const stage = useSandbox()

const QUESTION = { system: 'Answer like a lighthouse keeper.', messages: [{ user: 'Where do gulls sleep?' }] }
const IDS = { chat: /^chatcmpl-[0-9a-f]+$/, messages: /^[0-9a-f]{32}$/ }

describe('a question and its answer', () => {
  eachWay('the question and the system prompt arrive, the text comes back', async (pair, stream) => {
    const { text, reasoning, toolCalls } = await ask(stage, pair, { ...QUESTION, stream })
    expect(text).toContain('Where do gulls sleep?')
    expect(text).toContain('lighthouse keeper')
    expect({ reasoning, toolCalls }).toEqual({ reasoning: '', toolCalls: [] })
  })

  eachWay('it ends because the model was done, and usage is counted', async (pair, stream) => {
    const { finish, usage } = await ask(stage, pair, { ...QUESTION, stream })
    expect(finish).toBe('stop')
    expect(usage).toEqual({ input: expect.any(Number), output: expect.any(Number) })
    expect(Number.isInteger(usage.input) && Number.isInteger(usage.output)).toBe(true)
    expect(Math.min(usage.input, usage.output)).toBeGreaterThan(0)
  })

  eachWay('the model is the catalog id that was asked for', async (pair, stream) => {
    const { model } = await ask(stage, pair, { ...QUESTION, stream })
    expect(model).toBe(stage.model(pair.upstream))
  })

  eachWay('the id has the form of the client protocol and is new every time', async (pair, stream) => {
    const first = await ask(stage, pair, { ...QUESTION, stream })
    const second = await ask(stage, pair, { ...QUESTION, stream })
    expect(first.id).toMatch(IDS[pair.client])
    expect(second.id).not.toBe(first.id)
  })

  eachWay('the shape is that of the client protocol', async (pair, stream) => {
    const { raw } = await ask(stage, pair, { ...QUESTION, stream })
    if (pair.client === 'chat') {
      expect(raw.object).toBe('chat.completion')
      expect(Number.isInteger(raw.created)).toBe(true)
      expect(raw.choices).toHaveLength(1)
      expect(raw.choices[0]).toMatchObject({ index: 0, message: { role: 'assistant' }, finish_reason: 'stop' })
      expect(raw.usage.total_tokens).toBe(raw.usage.prompt_tokens + raw.usage.completion_tokens)
    } else {
      expect(raw).toMatchObject({ type: 'message', role: 'assistant', stop_reason: 'end_turn', stop_sequence: null })
      expect(raw.content).toEqual([expect.objectContaining({ type: 'text', text: expect.any(String) })])
    }
  })

  eachPair('the official client finds the request id, in letters only', async ({ client, upstream }) => {
    const request = { model: stage.model(upstream), messages: [{ role: 'user' as const, content: 'Hello' }] }
    const { request_id } =
      client === 'chat'
        ? await chatClient(stage).chat.completions.create(request).withResponse()
        : await messagesClient(stage)
            .messages.create({ ...request, max_tokens: 100 })
            .withResponse()
    expect(request_id).toMatch(/^[a-z]{20,}$/)
  })

  eachWay('a conversation goes on where it was left', async (pair, stream) => {
    const messages = [{ user: 'I keep bees.' }, { assistant: 'How many?' }, { user: 'Eleven hives of them.' }]
    const { text, usage } = await ask(stage, pair, { messages, stream })
    const alone = await ask(stage, pair, { messages: messages.slice(-1), stream })
    expect(text).toContain('Eleven hives of them.')
    expect(usage.input).toBeGreaterThan(alone.usage.input)
  })

  eachWay('letters beyond Latin come back whole', async (pair, stream) => {
    const { text } = await ask(stage, pair, { messages: [{ user: 'Grüße, 世界 and 🦜🧭!' }], stream })
    expect(text).toContain('Grüße, 世界 and 🦜🧭!')
  })
})

describe('the catalog', () => {
  test('every model answers through either protocol', async () => {
    expect(stage.models.length).toBe(15)
    const messages = [{ user: 'Good morning, harbour.' }]
    const answers = await Promise.all(
      stage.models.flatMap(({ id }) =>
        LIKE.map(async pair => {
          const { text, model } = await ask(stage, pair, { model: id, messages })
          return { id, model, answered: text.includes('Good morning, harbour.') }
        }),
      ),
    )
    expect(answers.filter(({ id, model, answered }) => model !== id || !answered)).toEqual([])
    expect(answers).toHaveLength(30)
  })

  test('both official clients list the same models', async () => {
    const ids = stage.models.map(({ id }) => id)
    const seenByChat = (await chatClient(stage).models.list()).data.map(({ id }) => id)
    const seenByMessages = (await messagesClient(stage).models.list()).data.map(({ id }) => id)
    expect(seenByChat).toEqual(ids)
    expect(seenByMessages).toEqual(ids)
  })

  test('both official clients retrieve one model by its id', async () => {
    const [{ id }] = stage.models
    expect(await chatClient(stage).models.retrieve(id)).toMatchObject({ id, object: 'model' })
    expect(await messagesClient(stage).models.retrieve(id)).toMatchObject({ id, type: 'model' })
  })
})
