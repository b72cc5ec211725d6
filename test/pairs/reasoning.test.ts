import { describe, expect } from 'bun:test'
import type { JsonBody } from '../support/duet.ts'
import { framesOf, post } from '../support/http.ts'
import {
  ask,
  bodyFor,
  CHAT_CLIENTS,
  eachPair,
  eachWay,
  isReasoning,
  type Line,
  MESSAGES_CLIENTS,
  messagesClient,
  PATHS,
  type Pair,
  type Question,
  useSandbox,
} from './pairs.ts'

const stage = useSandbox()

const RIDDLE: readonly Line[] = [{ user: 'What walks on three legs?' }]
const TOOL = { name: 'get_weather', description: 'The weather', schema: { type: 'object', properties: {} } }
const ASKED_FOR = [{ type: 'enabled', budget_tokens: 1024 }, { type: 'adaptive' }]

const think = (pair: Pair, question: Partial<Question> = {}) =>
  ask(stage, pair, { model: stage.model(pair.upstream, isReasoning), messages: RIDDLE, ...question })
const typesOf = ({ content }: JsonBody) => content.map(({ type }: JsonBody) => type)

describe('on chat', () => {
  eachWay(
    'the thoughts stand beside the content, in reasoning_content',
    async (pair, stream) => {
      const { reasoning, text, finish } = await think(pair, { stream })
      expect(reasoning.length).toBeGreaterThan(0)
      expect(text).toContain('What walks on three legs?')
      expect(text).not.toContain(reasoning)
      expect(finish).toBe('stop')
    },
    CHAT_CLIENTS,
  )

  eachWay(
    'their tokens are counted as part of the completion',
    async (pair, stream) => {
      const { usage } = (await think(pair, { stream })).raw
      expect(usage.completion_tokens_details.reasoning_tokens).toBeGreaterThan(200)
      expect(usage.completion_tokens).toBeGreaterThan(usage.completion_tokens_details.reasoning_tokens)
      expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens)
    },
    CHAT_CLIENTS,
  )

  eachPair(
    'the thoughts come before the text',
    async pair => {
      const model = stage.model(pair.upstream, isReasoning)
      const { text } = await post(
        stage.duet,
        PATHS.chat,
        bodyFor(stage, pair, { model, messages: RIDDLE, stream: true }),
      )
      const deltas = framesOf(text).flatMap(({ json }) => (json?.choices ?? []).map(({ delta }: JsonBody) => delta))
      const lastThought = deltas.findLastIndex(delta => delta.reasoning_content)
      const firstWord = deltas.findIndex(delta => delta.content)
      expect(lastThought).toBeGreaterThanOrEqual(0)
      expect(firstWord).toBeGreaterThan(lastThought)
    },
    CHAT_CLIENTS,
  )
})

describe('on messages', () => {
  eachWay(
    'the content is only text when nobody asked for thinking',
    async (pair, stream) => {
      const { raw, usage } = await think(pair, { stream })
      expect(typesOf(raw)).toEqual(['text'])
      expect(usage.output).toBeGreaterThan(200)
    },
    MESSAGES_CLIENTS,
  )

  eachWay(
    'the content is only a call when nobody asked for thinking',
    async (pair, stream) => {
      const { raw } = await think(pair, { tools: [TOOL], messages: [{ user: 'The weather?' }], stream })
      expect(typesOf(raw)).toEqual(['tool_use'])
    },
    MESSAGES_CLIENTS,
  )

  eachWay(
    'thinking that is switched off stays away',
    async (pair, stream) => {
      const { raw } = await think(pair, { more: { thinking: { type: 'disabled' } }, stream })
      expect(typesOf(raw)).toEqual(['text'])
    },
    MESSAGES_CLIENTS,
  )

  for (const thinking of ASKED_FOR) {
    eachWay(
      `thinking that is ${thinking.type} comes first, with a signature that is a text`,
      async (pair, stream) => {
        const { raw, reasoning, usage } = await think(pair, { more: { thinking }, stream })
        expect(typesOf(raw)).toEqual(['thinking', 'text'])
        expect(reasoning.length).toBeGreaterThan(0)
        expect(raw.content[0].signature).toBeString()
        expect(usage.output).toBeGreaterThan(200)
      },
      MESSAGES_CLIENTS,
    )
  }

  eachWay(
    'thoughts that the client sends back do not break the round trip of a tool',
    async (pair, stream) => {
      const { messages } = messagesClient(stage)
      const say = async (conversation: JsonBody): Promise<JsonBody> => {
        const body: JsonBody = {
          model: stage.model(pair.upstream, isReasoning),
          max_tokens: 4000,
          thinking: { type: 'enabled', budget_tokens: 1024 },
          tools: [{ name: TOOL.name, description: TOOL.description, input_schema: TOOL.schema }],
          messages: conversation,
        }
        return stream ? messages.stream(body).finalMessage() : messages.create(body)
      }
      const question = { role: 'user', content: 'How is the weather?' }
      const first = await say([question])
      expect(typesOf(first)).toEqual(['thinking', 'tool_use'])

      const result = { type: 'tool_result', tool_use_id: first.content[1].id, content: 'thunder' }
      const history = [question, { role: 'assistant', content: first.content }, { role: 'user', content: [result] }]
      const second = await say(history)
      expect(typesOf(second)).toEqual(['thinking', 'text'])
      expect(second.content[1].text).toContain('thunder')
    },
    MESSAGES_CLIENTS,
  )
})

describe('the bill', () => {
  eachWay('a cap of 12 cuts the text, not the count', async (pair, stream) => {
    const { usage, finish, text } = await think(pair, { maxTokens: 12, stream })
    expect(usage.output).toBeGreaterThan(200)
    expect(finish).toBe('length')
    expect(text.length).toBeGreaterThan(0)
  })

  eachWay(
    'max_completion_tokens of 12 bounds it as little',
    async (pair, stream) => {
      const { usage, finish } = await think(pair, { more: { max_completion_tokens: 12 }, stream })
      expect(usage.output).toBeGreaterThan(200)
      expect(finish).toBe('length')
    },
    CHAT_CLIENTS,
  )

  eachWay('a model that does not think has nothing of it', async (pair, stream) => {
    const thinking = { type: 'enabled', budget_tokens: 1024 }
    const more = pair.client === 'messages' ? { thinking } : {}
    const { reasoning, raw, usage } = await ask(stage, pair, { messages: RIDDLE, more, stream })
    expect(reasoning).toBe('')
    expect(usage.output).toBeLessThan(200)
    if (pair.client === 'messages') expect(typesOf(raw)).toEqual(['text'])
  })
})
