import { describe, expect, test } from 'bun:test'
import { faultsOf } from './checker.ts'
import { type Json, type JsonObject, say, toolChoice, tools, useSandbox } from './support.ts'

const sandbox = useSandbox()

const QUESTION = 'Is it cold in Reykjavik, in celsius?'

/** Each row is the schema of one required property. */
const PROPERTIES: readonly (readonly [title: string, schema: Json])[] = [
  ['a string', { type: 'string' }],
  ['anything', true],
  ['anything, said with no keywords', {}],
  ['an integer', { type: 'integer' }],
  ['a number', { type: 'number' }],
  ['a boolean', { type: 'boolean' }],
  ['null', { type: 'null' }],
  ['a union of types', { type: ['null', 'integer'] }],
  ['an enum', { enum: ['kelvin', 'celsius'] }],
  ['an enum of one type', { type: 'integer', enum: ['one', 2] }],
  ['an enum of objects', { enum: [{ a: 1 }, { a: 2 }] }],
  ['a const', { const: 'fixed' }],
  ['a const of zero', { const: 0 }],
  ['a const of null', { const: null }],
  ['a default', { type: 'string', default: 'given' }],
  ['a default of the wrong type', { type: 'string', default: null }],
  ['a minimum', { type: 'integer', minimum: 18 }],
  ['a broken minimum', { type: 'integer', minimum: 17.5 }],
  ['a maximum', { type: 'integer', maximum: -3 }],
  ['a range', { type: 'integer', minimum: 5, maximum: 5 }],
  ['a range of fractions', { type: 'number', minimum: 0.2, maximum: 0.4 }],
  ['an open range', { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 0.5 }],
  ['an open range of integers', { type: 'integer', exclusiveMinimum: 3, exclusiveMaximum: 5 }],
  ['a multiple', { type: 'integer', multipleOf: 7 }],
  ['a multiple in a range', { type: 'integer', multipleOf: 7, minimum: 15, maximum: 22 }],
  ['a multiple of a fraction', { type: 'number', multipleOf: 0.25, minimum: 1.1 }],
  ['an integer multiple of a fraction', { type: 'integer', multipleOf: 1.5 }],
  ['a negative multiple', { type: 'integer', multipleOf: 10, exclusiveMaximum: -10 }],
  ['a least length', { type: 'string', minLength: 300 }],
  ['a greatest length', { type: 'string', maxLength: 3 }],
  ['an exact length', { type: 'string', minLength: 12, maxLength: 12 }],
  ['no characters at all', { type: 'string', maxLength: 0 }],
  ['a pattern of digits', { type: 'string', pattern: '^\\d{3}-\\d{4}$' }],
  ['a pattern of classes', { type: 'string', pattern: '^[A-Z]{2}[0-9a-f]{4,}[^a-z]$' }],
  ['a pattern with alternatives', { type: 'string', pattern: '^(?:red|green)-(a|b)?c+$' }],
  ['a pattern with a named group', { type: 'string', pattern: '^(?<year>\\d{4})\\.(?<month>0[1-9]|1[0-2])$' }],
  ['a pattern with escapes', { type: 'string', pattern: '^\\w+\\s\\S*\\/\\u0041\\x42\\p{Lu}$' }],
  ['a pattern with a look ahead', { type: 'string', pattern: '^(?=[a-z])[a-z]{2,5}$' }],
  ['a pattern and a length', { type: 'string', pattern: '^[a-z]+$', minLength: 6, maxLength: 7 }],
  ['a pattern without anchors', { type: 'string', pattern: '[a-z]\\d' }],
  ['a tricky class', { type: 'string', pattern: '^[\\]\\-_.]{3}[a\\d-]$' }],
  ['a lazy repetition', { type: 'string', pattern: '^a+?b*?c??$' }],
  ...['date', 'date-time', 'time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uuid'].map(
    format => [`a ${format}`, { type: 'string', format }] as const,
  ),
  ['a list', { type: 'array', items: { type: 'integer' } }],
  ['a list of anything', { type: 'array' }],
  ['a list with a least length', { type: 'array', items: { type: 'string' }, minItems: 3 }],
  ['an empty list', { type: 'array', items: { type: 'string' }, maxItems: 0 }],
  ['a list without possible items', { type: 'array', items: false }],
  ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }, { type: 'boolean' }], items: false }],
  ['a tuple with a rest', { type: 'array', prefixItems: [{ const: 1 }], items: { type: 'null' }, minItems: 3 }],
  ['different strings', { type: 'array', items: { type: 'string' }, minItems: 4, uniqueItems: true }],
  [
    'different short strings',
    { type: 'array', items: { type: 'string', maxLength: 2 }, minItems: 4, uniqueItems: true },
  ],
  ['different numbers', { type: 'array', items: { type: 'integer', minimum: 5 }, minItems: 4, uniqueItems: true }],
  ['different choices', { type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 3, uniqueItems: true }],
  [
    'different patterns',
    { type: 'array', items: { type: 'string', pattern: '^[a-z]\\d$' }, minItems: 3, uniqueItems: true },
  ],
  [
    'an object',
    { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false },
  ],
  ['nested objects', nested(20)],
  ['an object without a type', { properties: { a: { type: 'integer' } }, required: ['a'] }],
  [
    'a required property that is not declared',
    { type: 'object', required: ['b'], additionalProperties: { type: 'integer' } },
  ],
  [
    'a property with an odd name',
    { type: 'object', properties: { __proto__x: {}, constructor: { type: 'null' } }, required: ['constructor'] },
  ],
  ['a least number of properties', { type: 'object', properties: { a: { type: 'integer' } }, minProperties: 3 }],
  ['anyOf', { anyOf: [{ type: 'null' }, { type: 'integer', minimum: 4 }] }],
  ['anyOf with an impossible option', { anyOf: [false, { type: 'boolean' }] }],
  ['anyOf beside keywords', { type: 'string', anyOf: [{ minLength: 30 }, { maxLength: 2 }] }],
  ['oneOf', { oneOf: [{ type: 'object', properties: { k: { const: 'x' } }, required: ['k'] }, { type: 'string' }] }],
  ['allOf', { allOf: [{ type: 'integer', minimum: 3 }, { maximum: 9 }, { minimum: 5, multipleOf: 4 }] }],
  [
    'allOf of objects',
    {
      allOf: [
        { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
        { properties: { a: { minLength: 60 }, b: { type: 'null' } }, required: ['b'] },
      ],
    },
  ],
  ['allOf of number and integer', { allOf: [{ type: ['number', 'string'] }, { type: 'integer' }] }],
  ['allOf of enums', { allOf: [{ enum: [1, 2, 3] }, { enum: [3, 4] }] }],
  ['allOf of anyOfs', { allOf: [{ anyOf: [{ type: 'integer' }] }, { anyOf: [{ minimum: 12 }] }] }],
]

/** Each row is a whole schema of arguments. */
const OBJECTS: readonly (readonly [title: string, schema: JsonObject])[] = [
  ['no properties', { type: 'object' }],
  ['closed and empty', { type: 'object', properties: {}, additionalProperties: false }],
  [
    'only optional properties',
    { type: 'object', properties: { a: { type: 'integer', minimum: 2 }, b: { type: 'string' } } },
  ],
  [
    'definitions',
    {
      type: 'object',
      properties: { at: { $ref: '#/$defs/point' } },
      required: ['at'],
      $defs: { point: { type: 'object', properties: { x: { type: 'number', minimum: 3 } }, required: ['x'] } },
    },
  ],
  [
    'chained definitions',
    {
      type: 'object',
      properties: { a: { $ref: '#/definitions/one' } },
      required: ['a'],
      definitions: { one: { $ref: '#/definitions/two' }, two: { type: 'integer', maximum: -1 } },
    },
  ],
  [
    'a reference beside keywords',
    {
      type: 'object',
      properties: { a: { $ref: '#/$defs/n', minimum: 50 } },
      required: ['a'],
      $defs: { n: { type: 'integer' } },
    },
  ],
  [
    'a tree',
    {
      $ref: '#/$defs/node',
      type: 'object',
      $defs: {
        node: {
          type: 'object',
          properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
          required: ['name', 'children'],
        },
      },
    },
  ],
  [
    'a list linked by null',
    { type: 'object', properties: { next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } }, required: ['next'] },
  ],
  [
    'an expression',
    {
      type: 'object',
      properties: { e: { $ref: '#/$defs/e' } },
      required: ['e'],
      $defs: {
        e: {
          oneOf: [
            {
              type: 'object',
              properties: { left: { $ref: '#/$defs/e' }, right: { $ref: '#/$defs/e' } },
              required: ['left', 'right'],
            },
            { type: 'integer' },
          ],
        },
      },
    },
  ],
  [
    'a choice at the top',
    { type: 'object', anyOf: [{ properties: { a: { const: 1 } }, required: ['a'] }, { required: ['b'] }] },
  ],
]

describe('arguments satisfy the schema of the tool', () => {
  for (const [title, property] of PROPERTIES) {
    test(title, () =>
      expectSatisfied({ type: 'object', properties: { it: property }, required: ['it'], additionalProperties: false }),
    )
  }
  for (const [title, schema] of OBJECTS) test(title, () => expectSatisfied(schema))
})

describe('arguments speak of the question', () => {
  const cases: readonly (readonly [question: string, schema: JsonObject, value: Json])[] = [
    ['What is the weather in Paris?', { type: 'string' }, 'Paris'],
    ['Is New York larger than that?', { type: 'string' }, 'New York'],
    ['Berlin now', { type: 'string' }, 'Berlin'],
    ['find a cheap room', { type: 'string' }, 'find a cheap room'],
    ['Shall I pack for kelvin or Celsius?', { enum: ['fahrenheit', 'celsius'] }, 'celsius'],
    ['Anything else', { enum: ['fahrenheit', 'celsius'] }, 'fahrenheit'],
    ['Anything else', { enum: ['fahrenheit', 'celsius'], default: 'celsius' }, 'celsius'],
  ]
  for (const [question, property, value] of cases) {
    test(`"${question}" fills in ${JSON.stringify(value)}`, async () => {
      const schema = { type: 'object', properties: { city: property }, required: ['city'] }
      expect(await argumentsFor(schema, question)).toEqual({ city: value })
    })
  }

  test('a query is the question itself', async () => {
    const schema = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] }
    expect(await argumentsFor(schema, 'Who wrote Faust?')).toEqual({ query: 'Who wrote Faust?' })
  })

  test('optional properties are left out, unless nothing else would be said', async () => {
    const properties = { city: { type: 'string' }, days: { type: 'integer' } }
    expect(await argumentsFor({ type: 'object', properties, required: ['city'] }, 'In Rome')).toEqual({ city: 'Rome' })
    expect(await argumentsFor({ type: 'object', properties }, 'In Rome')).toEqual({ city: 'Rome', days: 1 })
  })

  test('an object that is open to anything gets an answer', async () => {
    expect(await argumentsFor({ type: 'object', additionalProperties: true }, 'hi')).toEqual({ answer: 'hi' })
  })
})

describe('a hostile schema is answered in time', () => {
  const doubling = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => [
      `d${at}`,
      { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
    ]),
  )
  const cases: readonly (readonly [title: string, schema: JsonObject])[] = [
    ['a reference to itself', { type: 'object', $ref: '#' }],
    [
      'a reference into nowhere',
      { type: 'object', properties: { a: { $ref: '#/$defs/none/at/all' } }, required: ['a'] },
    ],
    [
      'a reference to the outside',
      { type: 'object', properties: { a: { $ref: 'https://example.com/s' } }, required: ['a'] },
    ],
    [
      'endless required properties',
      { type: 'object', properties: { a: { $ref: '#' }, b: { $ref: '#' } }, required: ['a', 'b'] },
    ],
    [
      'doubling definitions',
      { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, required: ['a'], $defs: doubling },
    ],
    [
      'lengths beyond reason',
      { type: 'object', properties: { a: { type: 'string', minLength: 1e15 }, b: { type: 'array', minItems: 1e15 } } },
    ],
    [
      'an endless pattern',
      { type: 'object', properties: { a: { type: 'string', pattern: '((a{999999}){999999}){999999}' } } },
    ],
    [
      'a broken pattern',
      {
        type: 'object',
        properties: { a: { type: 'string', pattern: '[(\\' }, b: { type: 'string', pattern: '('.repeat(5000) } },
      },
    ],
    [
      'keywords of the wrong kind',
      {
        type: 'object',
        properties: {
          a: { enum: {}, anyOf: 1, minimum: 'x', required: 3, items: 'y', format: 'constructor', type: 'constructor' },
        },
      },
    ],
    [
      'a contradiction',
      { type: 'object', properties: { a: { allOf: [{ type: 'string' }, { type: 'integer' }] } }, required: ['a'] },
    ],
  ]
  for (const [title, schema] of cases) {
    test(title, async () => {
      const started = performance.now()
      expect(await argumentsFor(schema, 'whatever')).toBeObject()
      expect(performance.now() - started).toBeLessThan(2000)
    })
  }
})

async function expectSatisfied(schema: JsonObject): Promise<void> {
  expect(faultsOf(await argumentsFor(schema, QUESTION), schema)).toEqual([])
}

async function argumentsFor(schema: JsonObject, user: string): Promise<JsonObject> {
  const more = { ...tools('chat', { name: 'use_it', schema }), ...toolChoice('chat', 'any') }
  const { calls } = await say(sandbox.url, 'chat', { user, more })
  return JSON.parse(calls[0]?.arguments ?? '')
}

function nested(levels: number): JsonObject {
  return levels === 0
    ? { type: 'integer' }
    : { type: 'object', properties: { in: nested(levels - 1) }, required: ['in'] }
}
