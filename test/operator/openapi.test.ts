import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ROUTES } from '../../src/admin/api.ts'
import type { OpenApiView, OperationView } from '../../src/admin/contract.ts'
import { describeRoutes } from '../../src/admin/openapi.ts'
import { VERSION } from '../../src/version.ts'
import { type Duet, type JsonBody, startDuet } from '../support/duet.ts'

let duet: Duet
beforeAll(async () => {
  duet = await startDuet()
})
afterAll(() => duet.stop())

const DOCUMENT: OpenApiView = JSON.parse(JSON.stringify(describeRoutes(ROUTES, VERSION)))

interface Operation extends OperationView {
  readonly path: string
  readonly method: string
}

const OPERATIONS: readonly Operation[] = Object.entries(DOCUMENT.paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, operation]) => ({ ...operation, path, method })),
)

/** Every object in the document that has this member, with its place. */
function* having(member: string, value: JsonBody = DOCUMENT, place = '#'): Generator<[place: string, JsonBody]> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value) && member in value) yield [place, value]
  for (const [name, inner] of Object.entries(value)) yield* having(member, inner, `${place}/${name}`)
}

const resolve = (ref: string): JsonBody =>
  ref
    .split('/')
    .slice(1)
    .reduce((at: JsonBody, step) => at?.[step.replaceAll('~1', '/').replaceAll('~0', '~')], DOCUMENT)

const repeated = (names: readonly string[]): string[] => names.filter((name, place) => names.indexOf(name) !== place)

describe('the description of the management API', () => {
  test('is served to everyone, and is made of the routes', async () => {
    const response = await fetch(`${duet.url}/api/openapi.json`)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(await response.json()).toEqual(DOCUMENT as JsonBody)
  })

  test('is OpenAPI 3.1 and says what it describes', () => {
    expect(DOCUMENT.openapi).toMatch(/^3\.1\.\d+$/)
    expect(DOCUMENT.info).toMatchObject({ title: expect.any(String), version: VERSION })
    const known = ['openapi', 'info', 'servers', 'tags', 'paths', 'security', 'components']
    expect(Object.keys(DOCUMENT).filter(member => !known.includes(member))).toEqual([])
  })

  test('has every route, and nothing else', () => {
    const described = OPERATIONS.map(({ method, path }) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, '*')}`)
    expect(described.toSorted()).toEqual(
      Object.keys(ROUTES)
        .map(name => name.replace(' ', ' /api'))
        .toSorted(),
    )
  })

  test('refers to nothing that is not there', () => {
    const refs = [...having('$ref')]
    expect(refs.length).toBeGreaterThan(50)
    expect(refs.filter(([, { $ref }]) => resolve($ref) === undefined)).toEqual([])
  })

  test('has no part that nothing refers to', () => {
    const used = new Set([...having('$ref')].map(([, { $ref }]) => $ref))
    const parts = (['schemas', 'responses', 'parameters'] as const).flatMap(kind =>
      Object.keys(DOCUMENT.components[kind]).map(name => `#/components/${kind}/${name}`),
    )
    expect(parts.filter(part => !used.has(part))).toEqual([])
  })

  test('names every operation once', () => {
    const ids = OPERATIONS.map(({ operationId }) => operationId)
    expect(repeated(ids)).toEqual([])
    expect(ids.filter(id => !/^[a-z][A-Za-z]+$/.test(id))).toEqual([])
  })

  test('declares every tag and every credential that it uses', () => {
    const tags = DOCUMENT.tags.map(({ name }) => name)
    expect(repeated(tags)).toEqual([])
    expect([...new Set(OPERATIONS.flatMap(({ tags }) => tags))].toSorted()).toEqual(tags.toSorted())
    const wanted = DOCUMENT.security.flatMap(need => Object.keys(need))
    expect(wanted.toSorted()).toEqual(Object.keys(DOCUMENT.components.securitySchemes).toSorted())
  })

  test('has no two paths that differ by the name of a parameter only', () => {
    expect(repeated(Object.keys(DOCUMENT.paths).map(path => path.replace(/\{\w+\}/g, '{}')))).toEqual([])
  })

  test('has no amount that must be a number', () => {
    const amounts = [...having('format')].filter(([, { format }]) => format === 'decimal')
    expect(amounts.length).toBeGreaterThan(20)
    expect(amounts.filter(([, { type, anyOf }]) => type !== 'string' || anyOf)).toEqual([])
  })

  test('says of every object which members it has', () => {
    const objects = [...having('properties')].filter(([, { type }]) => type === 'object')
    expect(objects.length).toBeGreaterThan(50)
    expect(objects.filter(([, { additionalProperties }]) => additionalProperties !== false)).toEqual([])
  })

  test('uses no word of JSON Schema that other tools do not know', () => {
    const unknown = new Set<string>()
    for (const [, { schema }] of having('schema')) collectUnknown(schema, unknown)
    for (const schema of Object.values(DOCUMENT.components.schemas)) collectUnknown(schema, unknown)
    expect([...unknown]).toEqual([])
  })
})

describe('each operation', () => {
  for (const operation of OPERATIONS) {
    const { method, path, parameters, responses, requestBody, security } = operation
    const access = operation['x-duet-access']

    test(`${method.toUpperCase()} ${path} is described by the rules`, () => {
      expect(operation.summary).not.toBe('')
      const declared = parameters.map(parameter => ('$ref' in parameter ? resolve(parameter.$ref) : parameter))
      expect(repeated(declared.map(({ in: place, name }) => `${place} ${name}`))).toEqual([])
      const inPath = declared.filter(parameter => parameter.in === 'path')
      expect(inPath.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? [])
      expect(inPath.every(({ required }) => required)).toBe(true)
      if (method === 'get' || method === 'delete') expect(requestBody).toBeUndefined()
      expect(security === undefined).toBe(access !== 'open')
      expect('401' in responses).toBe(access !== 'open' || path === '/api/session')
      if (access === 'admin') expect(responses).toHaveProperty('403')
    })

    test(`${method.toUpperCase()} ${path} says what is answered`, () => {
      const statuses = Object.keys(responses)
      expect(statuses.some(status => status.startsWith('2'))).toBe(true)
      for (const [status, given] of Object.entries(responses)) {
        const response = '$ref' in given ? resolve(given.$ref) : given
        expect(response.description).not.toBe('')
        // An answer without content is one that has none: a file, or a stream, says so.
        expect([status, Object.keys(response.content ?? {}).length > 0]).toEqual([status, status !== '204'])
      }
    })
  }
})

/** Where in a schema other schemas stand. */
const INNER: Readonly<Record<string, 'schema' | 'list' | 'map'>> = {
  items: 'schema',
  additionalProperties: 'schema',
  anyOf: 'list',
  oneOf: 'list',
  allOf: 'list',
  properties: 'map',
}
const PLAIN =
  '$ref type const enum required description default format pattern minimum maximum minLength maxLength minItems maxItems'.split(
    ' ',
  )

function collectUnknown(schema: JsonBody, unknown: Set<string>): void {
  if (typeof schema === 'boolean') return
  for (const [keyword, value] of Object.entries(schema)) {
    const inner = INNER[keyword]
    if (inner)
      for (const part of inner === 'schema' ? [value] : Object.values(value as object)) collectUnknown(part, unknown)
    else if (!PLAIN.includes(keyword)) unknown.add(keyword)
  }
}
