import { describe, expect, test } from 'bun:test'
import { failToStart } from '../../support/duet.ts'
import { configOf, expectWithout, fn, says, text, useKinds } from './stage.ts'

/** Section 1.0: an upstream's capabilities come from its dialect, then from its vendor's preset, then from the operator. */

const THINKER = { reasoning: true, max_output_tokens: 20_000 }

const stage = useKinds({
  plain: { protocol: 'chat', model: { ...THINKER, images: 'forward' } },
  deepseek: { protocol: 'chat', vendor: 'deepseek', model: { ...THINKER, images: 'forward' } },
  'seeing-deepseek': {
    protocol: 'chat',
    vendor: 'deepseek',
    model: { images: 'forward' },
    capabilities: { vision: true },
  },
  openai: { protocol: 'chat', vendor: 'openai', name: 'gpt-4.1' },
  'gpt-5': { protocol: 'chat', vendor: 'openai', name: 'gpt-5', model: THINKER },
  mistral: { protocol: 'chat', vendor: 'mistral' },
  ollama: { protocol: 'chat', vendor: 'ollama' },
  'claude-old': { protocol: 'messages', vendor: 'anthropic', name: 'claude-sonnet-4-5', model: THINKER },
  'claude-new': { protocol: 'messages', vendor: 'anthropic', name: 'claude-opus-4-7', model: THINKER },
})

type KindName = Parameters<typeof stage.ask>[1]

const chat = async (kind: KindName, fields: object) => (await stage.ask('chat', kind, fields)).sent.body
const messages = async (kind: KindName, fields: object) => (await stage.ask('messages', kind, fields)).sent.body

const thought = [
  says('user', 'q'),
  says('assistant', [{ type: 'thinking', thinking: 'hm', signature: 's' }, text('a')]),
  says('user', 'r'),
]
const seen = [
  says('user', [text('look'), { type: 'image', source: { type: 'url', url: 'https://pics.example/a.png' } }]),
]
const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
const format = { output_config: { format: { type: 'json_schema', schema } } }

describe('deepseek', () => {
  test('wants its thoughts back', async () => {
    expect((await messages('deepseek', { messages: thought })).messages[1].reasoning_content).toBe('hm')
    expectWithout((await messages('plain', { messages: thought })).messages[1], 'reasoning_content')
  })

  test('sees no images, unless the operator knows better', async () => {
    const blind = await stage.ask('messages', 'deepseek', { messages: seen })
    expect(blind.sent.text).not.toContain('pics.example')
    expect(blind.dropped).toEqual(['image'])
    for (const kind of ['plain', 'seeing-deepseek'] as const) {
      expect((await stage.ask('messages', kind, { messages: seen })).sent.text).toContain('pics.example')
    }
  })

  test('knows objects, not schemas', async () => {
    const body = await messages('deepseek', format)
    expect(body.response_format).toEqual({ type: 'json_object' })
    expect(JSON.stringify(body.messages)).toContain('required')
    expect((await messages('plain', format)).response_format.type).toBe('json_schema')
  })

  test('has no tiers', async () => {
    expectWithout(await messages('deepseek', { service_tier: 'auto' }), 'service_tier')
    expect((await messages('plain', { service_tier: 'auto' })).service_tier).toBe('auto')
  })
})

describe('openai', () => {
  test('has another name for the limit', async () => {
    const body = await messages('openai', { max_tokens: 9 })
    expect(body.max_completion_tokens).toBe(9)
    expectWithout(body, 'max_tokens')
  })

  test('knows developers', async () => {
    const told = [says('developer', 'A'), says('user', 'q')]
    expect((await chat('openai', { messages: told })).messages[0].role).toBe('developer')
  })

  test('samples with some models and not with others', async () => {
    expect((await messages('openai', { temperature: 0.2 })).temperature).toBe(0.2)
    const { sent, dropped } = await stage.ask('messages', 'gpt-5', { temperature: 0.2, top_p: 0.3 })
    expectWithout(sent.body, 'temperature', 'top_p')
    expect([...dropped].sort()).toEqual(['temperature', 'top_p'])
  })
})

test('mistral is not asked who asks, nor to count', async () => {
  expectWithout(await messages('mistral', { stream: true, metadata: { user_id: 'u' } }), 'user', 'stream_options')
})

test('ollama is not told about calls in parallel', async () => {
  const tools = [{ name: 'f', input_schema: { type: 'object' } }]
  const body = await messages('ollama', { tools, tool_choice: { type: 'auto', disable_parallel_tool_use: true } })
  expect(body.tools).toHaveLength(1)
  expectWithout(body, 'parallel_tool_calls')
})

describe('anthropic', () => {
  const response_format = { type: 'json_schema', json_schema: { name: 'r', schema } }

  test('knows schemas', async () => {
    const body = await chat('claude-old', { response_format })
    expect(body.output_config.format.type).toBe('json_schema')
    expectWithout(body, 'tools')
  })

  test('thinks by a budget or of its own accord, with the model', async () => {
    const fields = { reasoning_effort: 'medium', max_tokens: 10_000 }
    expect((await chat('claude-old', fields)).thinking).toEqual({ type: 'enabled', budget_tokens: 4096 })
    expect(await chat('claude-new', fields)).toMatchObject({
      thinking: { type: 'adaptive' },
      output_config: { effort: 'medium' },
    })
  })

  test('samples, and continues, with older models only', async () => {
    const told = [says('user', 'q'), says('assistant', 'The answer is ')]
    const older = await chat('claude-old', { temperature: 0.2, messages: told })
    expect([older.temperature, older.messages.at(-1).role]).toEqual([0.2, 'assistant'])
    const newer = await chat('claude-new', { temperature: 0.2, messages: told })
    expect([newer.temperature, newer.messages.at(-1).role]).toEqual([undefined, 'user'])
  })

  test('knows strict tools', async () => {
    const tools = [fn('f', { strict: true, parameters: schema })]
    expect((await chat('claude-old', { tools })).tools[0].strict).toBe(true)
  })
})

describe('a capability that cannot be meant', () => {
  const BAD: Readonly<Record<string, unknown>> = {
    visoin: true,
    vision: 'maybe',
    temperature_max: 0,
    efforts: ['huge'],
    max_tokens_field: 'limit',
    user_field: 'name',
    maxTokensField: 'max_tokens',
    top_k: 1,
  }

  test('stops the start, each with its path', async () => {
    const { code, output } = await failToStart({
      config: configOf({ a: { protocol: 'chat', capabilities: BAD } }, 'http://127.0.0.1:1/v1'),
    })
    expect(code).not.toBe(0)
    for (const name of Object.keys(BAD)) expect(output).toContain(`channels[0].capabilities.${name}`)
  })

  test('is one that is not a list of capabilities, too', async () => {
    for (const capabilities of [['vision'], 'vision', 7]) {
      const kinds = { a: { protocol: 'chat', capabilities: capabilities as never } } as const
      const { code, output } = await failToStart({ config: configOf(kinds, 'http://127.0.0.1:1/v1') })
      expect(code).not.toBe(0)
      expect(output).toContain('channels[0].capabilities')
    }
  })
})
