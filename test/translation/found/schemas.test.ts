import { describe, expect, test } from 'bun:test'
import type { JsonBody } from '../../support/duet.ts'
import { PROTOCOLS, type ProtocolName } from '../../support/wire.ts'
import { fn, idOfKind, says, useKinds } from '../rules/stage.ts'

/** Schemas that servers refuse, on their way to an upstream of the other protocol. */

const stage = useKinds({
  chat: { protocol: 'chat' },
  messages: { protocol: 'messages' },
  structured: { protocol: 'messages', capabilities: { structured_output: true } },
})

/** Beyond what a number holds. */
const DIGITS = '12345678901234567890'

const OTHER: Readonly<Record<ProtocolName, ProtocolName>> = { chat: 'messages', messages: 'chat' }

describe('the schema of an input is that of an object', () => {
  const cases: readonly [string, object, object][] = [
    ['properties that are a list', { type: 'object', properties: [] }, { type: 'object', properties: {} }],
    ['no type', { properties: { a: { type: 'string' } } }, { type: 'object', properties: { a: { type: 'string' } } }],
    ['nothing at all', {}, { type: 'object', properties: {} }],
  ]
  for (const client of PROTOCOLS) {
    for (const [what, given, wanted] of cases) {
      test(`${what}, and its digits are kept: ${client} client`, async () => {
        const schema = { ...given, maxProperties: 'DIGITS' }
        const tool = client === 'chat' ? fn('f', { parameters: schema }) : { name: 'f', input_schema: schema }
        const body = { model: idOfKind(OTHER[client]), max_tokens: 9, messages: [says('user', 'q')], tools: [tool] }
        const { sent } = await stage.ask(client, OTHER[client], JSON.stringify(body).replace('"DIGITS"', DIGITS))
        const [offered] = sent.body.tools
        const { maxProperties, ...rest } = offered.input_schema ?? offered.function.parameters
        expect(rest).toEqual(wanted)
        expect(maxProperties).toBe(Number(DIGITS))
        expect(sent.text).toContain(`"maxProperties":${DIGITS}`)
      })
    }
  }
})

describe('a schema of the answer keeps what it says twice', () => {
  async function sanitized(schema: object): Promise<JsonBody> {
    const response_format = { type: 'json_schema', json_schema: { name: 'answer', schema } }
    const { sent } = await stage.ask('chat', 'structured', { response_format })
    return sent.body.output_config.format.schema
  }
  const A = [{ type: 'string' }, { type: 'integer' }]
  const B = [{ const: 'x' }, { const: 7 }]
  const C = { enum: ['x', 7, null] }

  for (const given of [
    { anyOf: A, oneOf: B },
    { oneOf: B, anyOf: A },
  ]) {
    test(`alternatives of both kinds: ${Object.keys(given)}`, async () => {
      const { allOf, ...rest } = await sanitized({ type: 'object', properties: { a: given } }).then(
        it => it.properties.a,
      )
      expect(allOf).toEqual(expect.arrayContaining([{ anyOf: A }, { anyOf: B }]))
      expect(rest).toEqual({})
    })
  }

  for (const given of [
    { allOf: [C], anyOf: A, oneOf: B },
    { anyOf: A, oneOf: B, allOf: [C] },
  ]) {
    test(`alternatives of both kinds beside what always holds: ${Object.keys(given)}`, async () => {
      const { properties } = await sanitized({ type: 'object', properties: { a: given } })
      expect(properties.a.allOf).toEqual(expect.arrayContaining([C, { anyOf: A }, { anyOf: B }]))
    })
  }

  test('definitions under both names', async () => {
    const schema = await sanitized({
      type: 'object',
      properties: { a: { $ref: '#/definitions/a' }, b: { $ref: '#/$defs/b' } },
      definitions: { a: { type: 'string' } },
      $defs: { b: { type: 'integer' } },
    })
    expect(schema.$defs).toEqual({ a: { type: 'string' }, b: { type: 'integer' } })
    expect(schema.properties).toEqual({ a: { $ref: '#/$defs/a' }, b: { $ref: '#/$defs/b' } })
  })
})
