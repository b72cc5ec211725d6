import { describe, expect, test } from 'bun:test'
import { expectError } from '../../support/wire.ts'
import { expectWithout, fn, useKinds } from './stage.ts'

/** Section 1.1, `reasoning_effort`: three kinds of models think in three ways. */

const LONG = { reasoning: true, max_output_tokens: 64_000 }
const efforts = ['low', 'medium', 'high', 'xhigh', 'max']

const stage = useKinds({
  dull: { protocol: 'messages' },
  budget: { protocol: 'messages', model: LONG },
  adaptive: { protocol: 'messages', model: LONG, capabilities: { adaptive_thinking: true, efforts } },
  restless: {
    protocol: 'messages',
    model: LONG,
    capabilities: { adaptive_thinking: true, disable_thinking: false, efforts },
  },
})

type KindName = Parameters<typeof stage.ask>[1]

const sent = async (kind: KindName, fields: object) => (await stage.ask('chat', kind, fields)).sent.body
const isThinking = ({ thinking }: { thinking?: { type: string } }) =>
  thinking !== undefined && thinking.type !== 'disabled'
const SAMPLING = { temperature: 0.5, top_p: 0.5, top_k: 5 }

describe('an adaptive model', () => {
  const rows = [
    ['minimal', 'low'],
    ['low', 'low'],
    ['medium', 'medium'],
    ['high', 'high'],
    ['xhigh', 'xhigh'],
    ['max', 'max'],
  ] as const
  for (const [given, effort] of rows) {
    test(`asked for ${given} thinks with effort ${effort}`, async () => {
      const body = await sent('adaptive', { reasoning_effort: given })
      expect(body.thinking).toEqual({ type: 'adaptive' })
      expect(body.output_config).toEqual({ effort })
      expectWithout(body, 'reasoning_effort')
    })
  }

  test('asked for none is told not to think', async () => {
    const body = await sent('adaptive', { reasoning_effort: 'none' })
    expect(body.thinking).toEqual({ type: 'disabled' })
    expectWithout(body, 'output_config')
  })

  test('that cannot be told not to think is told nothing', async () => {
    expectWithout(await sent('restless', { reasoning_effort: 'none' }), 'thinking', 'output_config')
  })

  test('that nobody asked anything is told nothing', async () => {
    expectWithout(await sent('adaptive', {}), 'thinking', 'output_config')
  })
})

describe('a model with a budget', () => {
  const rows = [
    ['low', 40_000, 1024],
    ['medium', 40_000, 4096],
    ['high', 40_000, 16_384],
    ['xhigh', 40_000, 32_768],
    ['max', 40_000, 32_768],
    ['high', 2000, 1999],
    ['low', 1025, 1024],
  ] as const
  for (const [reasoning_effort, max_tokens, budget_tokens] of rows) {
    test(`asked for ${reasoning_effort} within ${max_tokens} gets ${budget_tokens}`, async () => {
      const body = await sent('budget', { reasoning_effort, max_tokens })
      expect(body.thinking).toEqual({ type: 'enabled', budget_tokens })
      expect(body.max_tokens).toBe(max_tokens)
      expectWithout(body, 'output_config', 'reasoning_effort')
    })
  }

  test('has no room to think below 1024 tokens', async () => {
    expectWithout(await sent('budget', { reasoning_effort: 'high', max_tokens: 1024 }), 'thinking')
  })

  test('asked for none does not think', async () => {
    expect(isThinking(await sent('budget', { reasoning_effort: 'none' }))).toBe(false)
  })
})

describe('a model that does not reason', () => {
  test('is not asked to', async () => {
    const played = await stage.ask('chat', 'dull', { reasoning_effort: 'high' })
    expectWithout(played.sent.body, 'thinking', 'output_config', 'reasoning_effort')
    expect(played.dropped).toEqual(['reasoning_effort'])
  })

  test('is refused to a strict caller who wants it to', async () => {
    const played = await stage.ask('chat', 'dull', { reasoning_effort: 'high' }, { strict: true })
    expectError(played, { status: 400, code: 'translation_lossy', message: /reasoning_effort/ })
  })
})

for (const kind of ['budget', 'adaptive'] as const) {
  describe(`thinking, ${kind}`, () => {
    const thinking = { reasoning_effort: 'medium', max_tokens: 20_000 }

    test('goes without sampling', async () => {
      expectWithout(await sent(kind, { ...thinking, ...SAMPLING }), 'temperature', 'top_p', 'top_k')
    })

    test('that is off leaves the sampling alone', async () => {
      expect((await sent(kind, { reasoning_effort: 'none', temperature: 0.5 })).temperature).toBe(0.5)
    })

    for (const tool_choice of ['required', fn('f')]) {
      test(`gives way to a forced call: ${JSON.stringify(tool_choice)}`, async () => {
        const body = await sent(kind, { ...thinking, tools: [fn('f')], tool_choice, temperature: 0.5 })
        expect(isThinking(body)).toBe(false)
        expect(['any', 'tool']).toContain(body.tool_choice.type)
      })
    }

    for (const tool_choice of ['auto', 'none', undefined]) {
      test(`stays beside the choice ${tool_choice}`, async () => {
        expect(isThinking(await sent(kind, { ...thinking, tools: [fn('f')], tool_choice }))).toBe(true)
      })
    }
  })
}
