import { describe, expect, test } from 'bun:test'
import { VENDOR_MODEL } from '../../support/upstream.ts'
import { expectError } from '../../support/wire.ts'
import { expectRefused, expectWithout, idOfKind, says, text, useKinds } from './stage.ts'

/** Section 1.3 without tools: the fields of a messages request on their way to a chat upstream. */

const stage = useKinds({
  plain: { protocol: 'chat' },
  short: { protocol: 'chat', model: { max_output_tokens: 500 } },
  renamed: { protocol: 'chat', capabilities: { max_tokens_field: 'max_completion_tokens' } },
  unsampled: { protocol: 'chat', capabilities: { sampling: false } },
  'top-k': { protocol: 'chat', capabilities: { top_k: true } },
  xor: { protocol: 'chat', capabilities: { temperature_xor_top_p: true } },
  nameless: { protocol: 'chat', capabilities: { user_field: 'none' } },
  safety: { protocol: 'chat', capabilities: { user_field: 'safety_identifier' } },
  tierless: { protocol: 'chat', capabilities: { service_tier: false } },
  uncounted: { protocol: 'chat', capabilities: { stream_usage: false } },
  caching: { protocol: 'chat', capabilities: { cache_control: true } },
  thinking: { protocol: 'chat', model: { reasoning: true } },
  quiet: {
    protocol: 'chat',
    model: { reasoning: true },
    capabilities: { efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] },
  },
})

type KindName = Parameters<typeof stage.ask>[1]

const ask = (fields: object, kind: KindName = 'plain') => stage.ask('messages', kind, fields)
const sent = async (fields: object, kind: KindName = 'plain') => (await ask(fields, kind)).sent.body
const sha256 = (value: string) => new Bun.CryptoHasher('sha256').update(value).digest('hex')

test('the upstream hears its own name for the model, the caller the catalog id', async () => {
  const played = await ask({})
  expect(played.sent.body.model).toBe(VENDOR_MODEL)
  expect(played.body.model).toBe(idOfKind('plain'))
  expect(played.text).not.toContain(VENDOR_MODEL)
})

describe('the limit', () => {
  test('goes by the one name that the upstream knows', async () => {
    const plain = await sent({ max_tokens: 9 })
    expect(plain.max_tokens).toBe(9)
    expectWithout(plain, 'max_completion_tokens')
    const renamed = await sent({ max_tokens: 9 }, 'renamed')
    expect(renamed.max_completion_tokens).toBe(9)
    expectWithout(renamed, 'max_tokens')
  })

  test('is no higher than the model’s own', async () => {
    expect((await sent({ max_tokens: 32_000 }, 'short')).max_tokens).toBe(500)
  })

  test('is required, and at least one', async () => {
    expectError(await ask({ max_tokens: undefined }), {
      status: 500,
      code: 'invalid_request',
      message: 'field max_tokens is required',
    })
    expectRefused(await ask({ max_tokens: 0 }), /^max_tokens$/)
    expectRefused(await ask({ max_tokens: -1 }), /^max_tokens$/)
  })
})

describe('system', () => {
  const first = async (system: unknown) => (await sent({ system })).messages[0]
  const billing = text('x-anthropic-billing-header: cc_version=2.1.50; cc_entrypoint=cli;')

  test('is the first message', async () => {
    expect(await first('Be kind')).toEqual({ role: 'system', content: 'Be kind' })
  })

  test('of several blocks is joined by blank lines', async () => {
    expect(await first([text('A'), text('B', { cache_control: { type: 'ephemeral' } })])).toEqual({
      role: 'system',
      content: 'A\n\nB',
    })
  })

  test('loses the billing header of an agent, which changes with every version', async () => {
    expect(await first([billing, text('A')])).toEqual({ role: 'system', content: 'A' })
    expect((await sent({ system: [billing] })).messages).toEqual([{ role: 'user', content: 'q' }])
  })

  test('that says nothing is nothing', async () => {
    for (const system of ['', [], [text('')], null]) {
      expect((await sent({ system })).messages).toEqual([{ role: 'user', content: 'q' }])
    }
  })
})

describe('stop_sequences', () => {
  test('are stop', async () => {
    const body = await sent({ stop_sequences: ['A', 'B'] })
    expect(body.stop).toEqual(['A', 'B'])
    expectWithout(body, 'stop_sequences')
    expectWithout(await sent({ stop_sequences: [] }), 'stop', 'stop_sequences')
  })

  test('are four at most, and the caller is told', async () => {
    const played = await ask({ stop_sequences: ['A', 'B', 'C', 'D', 'E', 'F'] })
    expect(played.sent.body.stop).toEqual(['A', 'B', 'C', 'D'])
    expect(played.dropped).toEqual(['stop_sequences'])
  })
})

describe('sampling', () => {
  const rows: readonly [string, object, KindName, object, readonly string[]][] = [
    ['stays', { temperature: 0.3, top_p: 0.4 }, 'plain', { temperature: 0.3, top_p: 0.4 }, []],
    ['of 0 stays', { temperature: 0, top_p: 0 }, 'plain', { temperature: 0, top_p: 0 }, []],
    ['goes where none is taken', { temperature: 1, top_p: 0.4 }, 'unsampled', {}, ['temperature', 'top_p']],
    ['by top_k goes where it is not known', { top_k: 5 }, 'plain', {}, ['top_k']],
    ['by top_k stays where it is known', { top_k: 5 }, 'top-k', { top_k: 5 }, []],
    [
      'is by temperature alone where both are refused',
      { temperature: 0.3, top_p: 0.4 },
      'xor',
      { temperature: 0.3 },
      ['top_p'],
    ],
  ]
  for (const [what, fields, kind, wanted, lost] of rows) {
    test(what, async () => {
      const played = await ask(fields, kind)
      const { temperature, top_p, top_k } = played.sent.body
      expect(JSON.parse(JSON.stringify({ temperature, top_p, top_k }))).toEqual(wanted)
      expect([...played.dropped].sort()).toEqual([...lost])
    })
  }
})

describe('reasoning', () => {
  const thinking = (budget_tokens: number) => ({ max_tokens: 8000, thinking: { type: 'enabled', budget_tokens } })
  const adaptive = { thinking: { type: 'adaptive' } }
  const disabled = { thinking: { type: 'disabled' } }
  const effort = (value: string) => ({ output_config: { effort: value } })
  const rows: readonly [string, object, KindName, string | undefined][] = [
    ['a budget of 1024', thinking(1024), 'thinking', 'low'],
    ['a budget of 2047', thinking(2047), 'thinking', 'low'],
    ['a budget of 2048', thinking(2048), 'thinking', 'medium'],
    ['a budget of 8191', { ...thinking(8191), max_tokens: 8192 }, 'thinking', 'medium'],
    ['a budget of 8192', { ...thinking(8192), max_tokens: 10_000 }, 'thinking', 'high'],
    ['adaptive', adaptive, 'thinking', undefined],
    ['adaptive with an effort', { ...adaptive, ...effort('medium') }, 'thinking', 'medium'],
    ['an effort alone', effort('low'), 'thinking', 'low'],
    ['an effort of xhigh that is not known', effort('xhigh'), 'thinking', 'high'],
    ['an effort of max that is not known', effort('max'), 'thinking', 'high'],
    ['an effort of max that is known', effort('max'), 'quiet', 'max'],
    ['disabled where that can be said', disabled, 'quiet', 'none'],
    ['disabled where it cannot', disabled, 'thinking', undefined],
    ['a budget for a model that does not reason', thinking(2048), 'plain', undefined],
    ['an effort for a model that does not reason', effort('low'), 'plain', undefined],
    ['disabled for a model that does not reason', disabled, 'plain', undefined],
  ]
  for (const [what, fields, kind, wanted] of rows) {
    test(`${what} is ${wanted ?? 'not spoken of'}`, async () => {
      const body = await sent(fields, kind)
      expect(body.reasoning_effort).toBe(wanted)
      expectWithout(body, 'thinking', 'output_config', ...(wanted === undefined ? ['reasoning_effort'] : []))
    })
  }

  test('that cannot be had is named, and what cannot be had anyway is not', async () => {
    expect((await ask(thinking(2048))).dropped).toEqual(['thinking'])
    expect((await ask(disabled)).dropped).toEqual([])
    const played = await stage.ask('messages', 'plain', thinking(2048), { strict: true })
    expectError(played, { status: 400, code: 'translation_lossy', message: /thinking/, protocol: 'messages' })
  })
})

describe('who asks', () => {
  const claudeCode = `{"device_id":"${'d'.repeat(64)}","account_uuid":"","session_id":"6f1c"}`
  const rows = [
    ['u_42-A', 'u_42-A'],
    ['x'.repeat(64), 'x'.repeat(64)],
    ['x'.repeat(65), sha256('x'.repeat(65))],
    [claudeCode, sha256(claudeCode)],
  ] as const
  for (const [user_id, wanted] of rows) {
    test(`${user_id.slice(0, 20)} is the user ${wanted.slice(0, 20)}`, async () => {
      const body = await sent({ metadata: { user_id } })
      expect(body.user).toBe(wanted)
      expectWithout(body, 'metadata')
    })
  }

  test('is told by the field that the upstream knows, or not at all', async () => {
    const safety = await sent({ metadata: { user_id: 'u' } }, 'safety')
    expect(safety.safety_identifier).toBe('u')
    expectWithout(safety, 'user', 'metadata')
    expectWithout(await sent({ metadata: { user_id: 'u' } }, 'nameless'), 'user', 'safety_identifier', 'metadata')
    expectWithout(await sent({ metadata: { user_id: null } }), 'user', 'metadata')
  })
})

test('service_tier is told in the words of the chat protocol, where there are any', async () => {
  expect((await sent({ service_tier: 'auto' })).service_tier).toBe('auto')
  expect((await sent({ service_tier: 'standard_only' })).service_tier).toBe('default')
  expectWithout(await sent({ service_tier: 'auto' }, 'tierless'), 'service_tier')
})

test('a stream is asked to count its tokens, unless the upstream cannot', async () => {
  expect(await sent({ stream: true })).toMatchObject({ stream: true, stream_options: { include_usage: true } })
  const uncounted = await sent({ stream: true }, 'uncounted')
  expect(uncounted.stream).toBe(true)
  expectWithout(uncounted, 'stream_options')
  expectWithout(await sent({}), 'stream_options')
})

describe('cache marks', () => {
  const cache_control = { type: 'ephemeral' }
  const fields = {
    system: [text('s', { cache_control })],
    tools: [{ name: 'f', input_schema: { type: 'object' }, cache_control }],
    messages: [says('user', [text('q', { cache_control })])],
    cache_control,
  }

  test('are stripped everywhere, and the caller is told once', async () => {
    const played = await ask(fields)
    expect(played.sent.text).not.toContain('cache_control')
    expect(played.dropped).toEqual(['cache_control'])
  })

  test('reach an upstream that knows them', async () => {
    expect((await sent(fields, 'caching')).messages.at(-1).content).toMatchObject([text('q', { cache_control })])
  })
})

describe('what a chat upstream has no place for', () => {
  const LOST: Readonly<Record<string, unknown>> = {
    container: 'c',
    context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
    mcp_servers: [{ type: 'url', url: 'https://mcp.example', name: 'm' }],
    speed: 'fast',
    inference_geo: 'eu',
    diagnostics: { a: 1 },
    betas: ['x'],
    foo_unknown: 1,
  }

  test('is dropped and named', async () => {
    const played = await ask(LOST)
    expect(played.status).toBe(200)
    expectWithout(played.sent.body, ...Object.keys(LOST))
    expect([...played.dropped].sort()).toEqual(Object.keys(LOST).sort())
  })

  test('is refused to a strict caller', async () => {
    const played = await stage.ask('messages', 'plain', LOST, { strict: true })
    expectError(played, { status: 400, code: 'translation_lossy', protocol: 'messages', message: /mcp_servers/ })
  })

  test('is refused to everybody if it holds a part of the conversation', async () => {
    const { status, body } = await ask({ thread: { id: 't' } })
    expect(status).toBe(400)
    expect(body.error.details).toEqual({ error_code: 'thread_unsupported_request', unsupported: ['thread'] })
  })
})
