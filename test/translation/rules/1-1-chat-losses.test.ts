import { describe, expect, test } from 'bun:test'
import { expectError } from '../../support/wire.ts'
import { call, calls, expectRefused, expectWithout, fn, result, says, text, useKinds } from './stage.ts'

/** Section 1.1: cache marks, and what a messages upstream has no place for. */

const stage = useKinds({
  plain: { protocol: 'messages' },
  uncached: { protocol: 'messages', capabilities: { cache_control: false } },
})

type KindName = Parameters<typeof stage.ask>[1]

const ask = (fields: object, kind: KindName = 'plain') => stage.ask('chat', kind, fields)
const sent = async (fields: object, kind: KindName = 'plain') => (await ask(fields, kind)).sent.body

const EPHEMERAL = { type: 'ephemeral' }

describe('cache marks', () => {
  test('those of parts, messages and tools are kept', async () => {
    const body = await sent({
      messages: [
        says('system', [text('s', { cache_control: EPHEMERAL })]),
        says('user', [text('a'), text('b', { prompt_cache_breakpoint: { mode: 'explicit' } })]),
        says('assistant', 'c', { cache_control: EPHEMERAL }),
        says('user', 'd'),
      ],
      tools: [{ ...fn('f'), cache_control: EPHEMERAL }],
    })
    expect(body.system).toEqual([text('s', { cache_control: EPHEMERAL })])
    expect(body.messages[0].content).toEqual([text('a'), text('b', { cache_control: EPHEMERAL })])
    expect(body.messages[1].content).toEqual([text('c', { cache_control: EPHEMERAL })])
    expect(body.tools[0].cache_control).toEqual(EPHEMERAL)
  })

  test('of more than four the earliest go', async () => {
    const part = (value: string) => text(value, { cache_control: EPHEMERAL })
    const body = await sent({
      messages: [says('system', [part('s')]), says('user', ['1', '2', '3', '4', '5'].map(part))],
    })
    expect(JSON.stringify(body.system)).not.toContain('cache_control')
    const marked = body.messages[0].content.map(
      (block: { cache_control?: object }) => block.cache_control !== undefined,
    )
    expect(marked).toEqual([false, true, true, true, true])
  })

  test('a mark inside a result moves to the result', async () => {
    const body = await sent({
      messages: [
        says('user', 'q'),
        calls(call('c1')),
        result('c1', [text('one', { cache_control: EPHEMERAL }), text('two')]),
      ],
      tools: [fn('f')],
    })
    const [block] = body.messages.at(-1).content
    expect(block.cache_control).toEqual(EPHEMERAL)
    expect(JSON.stringify(block.content)).not.toContain('cache_control')
  })

  test('an upstream that knows no marks gets none, and the caller is told', async () => {
    const played = await ask({ messages: [says('user', [text('a', { cache_control: EPHEMERAL })])] }, 'uncached')
    expect(played.sent.text).not.toContain('cache_control')
    expect(played.dropped).toEqual(['cache_control'])
  })

  test('keys and lifetimes of the chat protocol go nowhere', async () => {
    const body = await sent({ prompt_cache_key: 'k', prompt_cache_retention: '24h', prompt_cache_options: { ttl: 5 } })
    expectWithout(body, 'prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options')
  })
})

describe('what a messages upstream has no place for', () => {
  const LOST: Readonly<Record<string, unknown>> = {
    seed: 7,
    logit_bias: { '50256': -100 },
    logprobs: true,
    top_logprobs: 3,
    presence_penalty: 0.5,
    frequency_penalty: 0.5,
    store: true,
    prediction: { type: 'content', content: 'x' },
    verbosity: 'low',
    web_search_options: {},
    moderation: { mode: 'x' },
    foo_unknown: { a: 1 },
  }

  test('is dropped, named, and answered with no logprobs', async () => {
    const played = await ask(LOST)
    expect(played.status).toBe(200)
    expectWithout(played.sent.body, ...Object.keys(LOST))
    expect(played.body.choices[0].logprobs).toBeNull()
    expect([...played.dropped].sort()).toEqual(Object.keys(LOST).sort())
  })

  for (const [field, value] of Object.entries(LOST)) {
    test(`${field} is refused to a caller who is strict`, async () => {
      const played = await stage.ask('chat', 'plain', { [field]: value }, { strict: true })
      expectError(played, { status: 400, code: 'translation_lossy', protocol: 'chat' })
      expect(played.body.error.message).toContain(field)
    })
  }

  test('is no loss where nothing is lost', async () => {
    const fields = {
      n: 1,
      modalities: ['text'],
      response_format: { type: 'text' },
      stream: true,
      stream_options: { include_usage: true },
      tools: [fn('f')],
      parallel_tool_calls: true,
      seed: null,
    }
    const { status, sent, dropped } = await stage.ask('chat', 'plain', fields, { strict: true })
    expect({ status, dropped }).toEqual({ status: 200, dropped: [] })
    expectWithout(sent.body, 'n', 'modalities', 'response_format', 'parallel_tool_calls', 'seed', 'output_config')
  })

  test('is refused where an answer would be a lie: several choices, or sound', async () => {
    expectRefused(await ask({ n: 2 }), /^n$/)
    expectRefused(await ask({ modalities: ['text', 'audio'] }), /^modalities/)
    expectRefused(await ask({ audio: { voice: 'alloy', format: 'wav' } }), /^audio/)
  })
})
