import { describe, expect, test } from 'bun:test'
import type { JsonBody } from '../../support/duet.ts'
import { expectWithout, fn, useKinds } from './stage.ts'

/** Section 1.5, requests: how an answer in JSON is asked of upstreams that know it and of those that do not. */

const LONG = { reasoning: true, max_output_tokens: 20_000 }

const stage = useKinds({
  native: { protocol: 'messages', capabilities: { structured_output: true } },
  emulated: { protocol: 'messages' },
  thinking: { protocol: 'messages', model: LONG },
  chat: { protocol: 'chat' },
  objects: { protocol: 'chat', capabilities: { structured_output: false } },
  words: { protocol: 'chat', capabilities: { structured_output: false, json_object: false } },
})

type KindName = Parameters<typeof stage.ask>[1]

const SENTENCE = 'Reply with one JSON object and nothing else.'
const schemaFormat = (schema: object) => ({ type: 'json_schema', json_schema: { name: 'r', strict: true, schema } })
const asked = async (response_format: object, kind: KindName, more: object = {}): Promise<JsonBody> =>
  (await stage.ask('chat', kind, { response_format, ...more })).sent.body
const SCHEMA = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
const OBJECT = { type: 'json_object' }

describe('a schema for an upstream that knows schemas', () => {
  const told = async (schema: object) => {
    const body = await asked(schemaFormat(schema), 'native')
    expect(Object.keys(body.output_config)).toEqual(['format'])
    expect(Object.keys(body.output_config.format).sort()).toEqual(['schema', 'type'])
    expectWithout(body, 'response_format', 'tools', 'tool_choice')
    return body.output_config.format.schema
  }
  const property = async (schema: object) => (await told({ type: 'object', properties: { p: schema } })).properties.p

  test('closes every object, and keeps what is optional', async () => {
    const inner = { type: 'object', properties: { a: { type: 'string' } } }
    const schema = await told({
      ...SCHEMA,
      properties: { n: { type: 'array', items: inner }, m: { anyOf: [inner] } },
      $defs: { d: inner },
    })
    expect(schema).toMatchObject({ type: 'object', additionalProperties: false, required: ['n'] })
    expect(schema.properties.n.items).toEqual({ ...inner, additionalProperties: false })
    expect(schema.properties.m.anyOf).toEqual([{ ...inner, additionalProperties: false }])
    expect(schema.$defs.d).toEqual({ ...inner, additionalProperties: false })
    expect((await told({ ...SCHEMA, additionalProperties: true })).additionalProperties).toBe(false)
  })

  test('has anyOf for oneOf', async () => {
    const schema = await property({ oneOf: [{ type: 'string' }, { type: 'null' }] })
    expect(schema).toEqual({ anyOf: [{ type: 'string' }, { type: 'null' }] })
  })

  const KEPT = [
    { type: 'string', enum: ['a', 'b'], description: 'd', title: 't' },
    { const: 3 },
    { allOf: [{ type: 'string' }] },
    { $ref: '#/$defs/x' },
    { type: 'array', items: { type: 'string' }, minItems: 1 },
    { type: 'array', items: { type: 'string' }, minItems: 0 },
    ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'].map(format => ({
      type: 'string',
      format,
    })),
  ]
  for (const kept of KEPT) {
    test(`keeps ${JSON.stringify(kept)}`, async () => {
      const { p } = (await told({ type: 'object', properties: { p: kept }, $defs: { x: { type: 'string' } } }))
        .properties
      expect(p).toEqual(kept)
    })
  }

  const MOVED: readonly (readonly [string, object, string | RegExp])[] = [
    ['minimum', { type: 'integer', minimum: 17 }, '17'],
    ['maxLength', { type: 'string', maxLength: 42 }, '42'],
    ['pattern', { type: 'string', pattern: '^ab+$' }, '^ab+$'],
    ['uniqueItems', { type: 'array', items: { type: 'string' }, uniqueItems: true }, 'uniqueItems'],
    ['minItems', { type: 'array', items: { type: 'string' }, minItems: 3 }, '3'],
    ['format', { type: 'string', format: 'iri' }, 'iri'],
    ['not', { type: 'string', not: { const: 'zzz' } }, 'zzz'],
    ['if', { type: 'string', if: { const: 'yyy' } }, 'yyy'],
  ]
  for (const [keyword, schema, told] of MOVED) {
    test(`tells ${keyword} in words, behind the description`, async () => {
      const p = await property({ ...schema, description: 'Mine.' })
      expectWithout(p, keyword)
      expect(p.description).toStartWith('Mine.')
      expect(p.description).toContain(told)
    })
  }

  test('of text that holds big numbers keeps them', async () => {
    const body = `{"model":"acme/native","messages":[{"role":"user","content":"q"}],"response_format":{"type":"json_schema","json_schema":{"name":"r","schema":{"type":"object","properties":{"p":{"const":12345678901234567890}}}}}}`
    expect((await stage.ask('chat', 'native', body)).sent.text).toContain('12345678901234567890')
  })
})

describe('a schema for an upstream that does not', () => {
  test('is a tool that must be called', async () => {
    const body = await asked(schemaFormat(SCHEMA), 'emulated')
    expect(body.tools).toMatchObject([{ name: 'structured_output', input_schema: SCHEMA }])
    expect(body.tool_choice).toMatchObject({ type: 'tool', name: 'structured_output' })
    expectWithout(body, 'response_format', 'output_config')
  })

  test('is one tool among others, of which any must be called', async () => {
    const body = await asked(schemaFormat(SCHEMA), 'emulated', { tools: [fn('f')] })
    expect(body.tools.map(({ name }: JsonBody) => name).sort()).toEqual(['f', 'structured_output'])
    expect(body.tool_choice).toMatchObject({ type: 'any' })
  })

  test('gives way to a tool that the caller forces or forbids', async () => {
    const forced = await asked(schemaFormat(SCHEMA), 'emulated', { tools: [fn('f')], tool_choice: fn('f') })
    expect(forced.tool_choice).toMatchObject({ type: 'tool', name: 'f' })
    const none = await asked(schemaFormat(SCHEMA), 'emulated', { tools: [fn('f')], tool_choice: 'none' })
    expect(none.tool_choice).toMatchObject({ type: 'tool', name: 'structured_output' })
  })

  test('gets another name where the caller has a tool of that one', async () => {
    const { tools } = await asked(schemaFormat(SCHEMA), 'emulated', { tools: [fn('structured_output')] })
    expect(tools).toHaveLength(2)
    expect(new Set(tools.map(({ name }: JsonBody) => name)).size).toBe(2)
  })

  test('is not forced upon a model that thinks', async () => {
    const body = await asked(schemaFormat(SCHEMA), 'thinking', { reasoning_effort: 'medium', max_tokens: 10_000 })
    if (body.thinking?.type === 'enabled') expect(['any', 'tool']).not.toContain(body.tool_choice?.type)
    else expect(body.tool_choice?.type).toBe('tool')
  })
})

describe('an object without a schema', () => {
  test('is a tool that takes any, where there are no others', async () => {
    const body = await asked(OBJECT, 'emulated')
    expect(body.tools).toHaveLength(1)
    expect(body.tools[0].input_schema).toMatchObject({ type: 'object', additionalProperties: true })
    expect(body.tool_choice).toMatchObject({ type: 'tool', name: body.tools[0].name })
    expectWithout(body, 'response_format')
  })

  test('is asked for in words beside tools, or of a model that thinks', async () => {
    const beside = await asked(OBJECT, 'emulated', { tools: [fn('f')] })
    expect(JSON.stringify(beside.system)).toContain(SENTENCE)
    expect(beside.tools).toHaveLength(1)
    const thinking = await asked(OBJECT, 'thinking', { reasoning_effort: 'medium', max_tokens: 10_000 })
    expect(JSON.stringify(thinking.system)).toContain(SENTENCE)
    expect(thinking.thinking).toMatchObject({ type: 'enabled' })
    expectWithout(thinking, 'tools', 'tool_choice')
  })
})

describe('output_config.format of a messages caller', () => {
  const asked = async (kind: KindName, schema: object = SCHEMA): Promise<JsonBody> =>
    (await stage.ask('messages', kind, { system: 'S', output_config: { format: { type: 'json_schema', schema } } }))
      .sent.body

  test('is response_format, the schema untouched and not strict', async () => {
    const schema = { ...SCHEMA, properties: { n: { type: 'integer', minimum: 1 }, o: { oneOf: [{ type: 'null' }] } } }
    const body = await asked('chat', schema)
    expect(body.response_format).toEqual({ type: 'json_schema', json_schema: { name: 'output', schema } })
    expectWithout(body, 'output_config')
  })

  test('is an object and a word on the schema where only objects are known', async () => {
    const body = await asked('objects')
    expect(body.response_format).toEqual(OBJECT)
    expect(body.messages[0].role).toBe('system')
    expect(body.messages[0].content).toMatch(/^S[\s\S]*"required":\s*\["n"\]/)
  })

  test('is a word alone, or a tool, where nothing is known', async () => {
    const body = await asked('words')
    expectWithout(body, 'response_format')
    expect(JSON.stringify(body)).toContain('required')
  })
})
