import { describe, expect, test } from 'bun:test'
import { VENDOR_MODEL } from '../../support/upstream.ts'
import { expectError } from '../../support/wire.ts'
import { expectWithout, idOfKind, useKinds } from './stage.ts'

/** Section 1.1 without tools and reasoning: the fields of a chat request on their way to a messages upstream. */

const stage = useKinds({
  plain: { protocol: 'messages' },
  short: { protocol: 'messages', model: { max_output_tokens: 500 } },
  unsampled: { protocol: 'messages', capabilities: { sampling: false } },
  both: { protocol: 'messages', capabilities: { temperature_xor_top_p: false } },
  'no-top-k': { protocol: 'messages', capabilities: { top_k: false } },
  cool: { protocol: 'messages', capabilities: { temperature_max: 0.5 } },
})

type KindName = Parameters<typeof stage.ask>[1]

const ask = (fields: object, kind: KindName = 'plain') => stage.ask('chat', kind, fields)
const sent = async (fields: object, kind: KindName = 'plain') => (await ask(fields, kind)).sent.body

const sha256 = (value: string) => new Bun.CryptoHasher('sha256').update(value).digest('hex')

test('the upstream hears its own name for the model, the caller the catalog id', async () => {
  const { sent, body, text } = await ask({})
  expect(sent.body.model).toBe(VENDOR_MODEL)
  expect(body.model).toBe(idOfKind('plain'))
  expect(text).not.toContain(VENDOR_MODEL)
})

test('an unknown model is not found', async () => {
  expectError(await ask({ model: 'acme/none' }), { status: 503, code: 'model_not_found', protocol: 'chat' })
})

test('messages that are absent or empty are a missing field', async () => {
  for (const messages of [undefined, null, []]) {
    expectError(await ask({ messages }), {
      status: 500,
      code: 'invalid_request',
      message: 'field messages is required',
    })
  }
})

describe('the limit', () => {
  const rows = [
    [{ max_completion_tokens: 7, max_tokens: 9 }, 7],
    [{ max_tokens: 9 }, 9],
    [{ max_completion_tokens: 7 }, 7],
    [{ max_tokens: 9000 }, 500],
    [{ max_completion_tokens: null, max_tokens: 9 }, 9],
  ] as const
  for (const [fields, wanted] of rows) {
    test(`${JSON.stringify(fields)} is sent as ${wanted}`, async () => {
      const body = await sent(fields, 'short')
      expect(body.max_tokens).toBe(wanted)
      expectWithout(body, 'max_completion_tokens')
    })
  }

  test('without one, a limit that the model allows is sent', async () => {
    const { max_tokens } = await sent({}, 'short')
    expect(max_tokens).toBeInteger()
    expect(max_tokens).toBeWithin(1, 501)
  })
})

describe('sampling', () => {
  const rows: readonly [string, object, KindName, object][] = [
    ['a temperature of 2 is capped at 1', { temperature: 2 }, 'plain', { temperature: 1 }],
    ['a temperature of 1.01 is capped at 1', { temperature: 1.01 }, 'plain', { temperature: 1 }],
    ['a temperature of 0.3 stays', { temperature: 0.3 }, 'plain', { temperature: 0.3 }],
    ['a temperature of 0 stays', { temperature: 0 }, 'plain', { temperature: 0 }],
    [
      'a temperature above the upstream’s own maximum is capped there',
      { temperature: 0.9 },
      'cool',
      { temperature: 0.5 },
    ],
    ['top_p goes alone', { top_p: 0.4 }, 'plain', { top_p: 0.4 }],
    ['top_p gives way to temperature', { temperature: 0.3, top_p: 0.4 }, 'plain', { temperature: 0.3 }],
    ['both go where both are taken', { temperature: 0.3, top_p: 0.4 }, 'both', { temperature: 0.3, top_p: 0.4 }],
    ['top_k goes where it is known', { top_k: 5 }, 'plain', { top_k: 5 }],
    ['top_k stays where it is not known', { top_k: 5 }, 'no-top-k', {}],
    ['nothing goes where nothing is taken', { temperature: 1, top_p: 1, top_k: 1 }, 'unsampled', {}],
  ]
  for (const [what, fields, kind, wanted] of rows) {
    test(what, async () => {
      const { temperature, top_p, top_k } = await sent(fields, kind)
      expect(JSON.parse(JSON.stringify({ temperature, top_p, top_k }))).toEqual(wanted)
    })
  }

  test('what an upstream does not take is named', async () => {
    const { dropped } = await ask({ temperature: 0.2, top_p: 0.2, top_k: 2 }, 'unsampled')
    expect([...dropped].sort()).toEqual(['temperature', 'top_k', 'top_p'])
  })
})

describe('stop', () => {
  const rows = [
    ['END', ['END']],
    [
      ['A', 'B'],
      ['A', 'B'],
    ],
    [
      ['A', '', ' ', '\n\t', 'B'],
      ['A', 'B'],
    ],
    [' A ', [' A ']],
    ['', undefined],
    [[], undefined],
    [['', ' '], undefined],
    [null, undefined],
  ] as const
  for (const [stop, wanted] of rows) {
    test(`${JSON.stringify(stop)} becomes ${JSON.stringify(wanted) ?? 'nothing'}`, async () => {
      const body = await sent({ stop })
      expect(body.stop_sequences).toEqual(wanted)
      expectWithout(body, 'stop', ...(wanted ? [] : ['stop_sequences']))
    })
  }
})

test('stream is asked for likewise, and its options stay', async () => {
  const body = await sent({ stream: true, stream_options: { include_usage: true } })
  expect(body.stream).toBe(true)
  expectWithout(body, 'stream_options')
  expect((await sent({})).stream ?? false).toBe(false)
})

describe('who asks', () => {
  for (const field of ['user', 'safety_identifier']) {
    test(`${field} becomes the user id where it is legal, else its digest`, async () => {
      expect((await sent({ [field]: 'u_42-A' })).metadata).toEqual({ user_id: 'u_42-A' })
      expect((await sent({ [field]: 'a@b.example' })).metadata).toEqual({ user_id: sha256('a@b.example') })
      expect((await sent({ [field]: 'x'.repeat(65) })).metadata).toEqual({ user_id: sha256('x'.repeat(65)) })
      expectWithout(await sent({ [field]: 'u' }), field)
    })
  }

  test('metadata of the caller’s own goes nowhere', async () => {
    const played = await ask({ metadata: { a: 'b' } })
    expectWithout(played.sent.body, 'metadata')
    expect(played.dropped).toEqual(['metadata'])
  })
})

describe('service_tier', () => {
  for (const [given, wanted] of [
    ['auto', 'auto'],
    ['default', 'standard_only'],
  ] as const) {
    test(`${given} becomes ${wanted}`, async () => {
      const played = await ask({ service_tier: given })
      expect(played.sent.body.service_tier).toBe(wanted)
      expect(played.dropped).toEqual([])
    })
  }
  for (const given of ['flex', 'scale', 'priority']) {
    test(`${given} is dropped`, async () => {
      const played = await ask({ service_tier: given })
      expectWithout(played.sent.body, 'service_tier')
      expect(played.dropped).toEqual(['service_tier'])
    })
  }
})
