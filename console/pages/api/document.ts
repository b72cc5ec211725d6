import type {
  OpenApiView,
  OperationView,
  ParameterView,
  ResponseView,
  SchemaView,
} from '../../../src/admin/contract.ts'

/** Reads an OpenAPI document: what is named elsewhere is looked up, and calls come in one list. Pure. */

export type Access = OperationView['x-duet-access']

export interface Call {
  /** Of the anchor, too. */
  readonly id: string
  /** In capitals. */
  readonly method: string
  readonly path: string
  readonly tag: string
  readonly access: Access
  readonly summary: string
  readonly description: string
  readonly parameters: readonly ParameterView[]
  readonly body: { readonly isRequired: boolean; readonly schema: SchemaView } | null
  readonly answers: readonly CallAnswer[]
}

export interface CallAnswer {
  readonly status: string
  readonly description: string
  /** By media type. */
  readonly schemas: readonly (readonly [string, SchemaView])[]
}

export interface Group {
  readonly tag: string
  readonly calls: readonly Call[]
}

export function callsOf(document: OpenApiView): readonly Call[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => callOf(document, { method, path, operation })),
  )
}

interface Found {
  readonly method: string
  readonly path: string
  readonly operation: OperationView
}

function callOf(document: OpenApiView, { method, path, operation }: Found): Call {
  const body = operation.requestBody
  const schema = body && Object.values(body.content)[0]?.schema
  return {
    id: operation.operationId,
    method: method.toUpperCase(),
    path,
    tag: operation.tags[0] ?? '',
    access: operation['x-duet-access'],
    summary: operation.summary,
    description: operation.description,
    // Headers hold for many calls alike, and are told of once for all.
    parameters: operation.parameters
      .map(parameter => lookUp<ParameterView>(document, parameter))
      .filter(parameter => parameter.in !== 'header'),
    body: body && schema ? { isRequired: body.required, schema } : null,
    answers: Object.entries(operation.responses).map(([status, response]) => {
      const { description, content = {} } = lookUp<ResponseView>(document, response)
      return { status, description, schemas: Object.entries(content).map(([type, { schema }]) => [type, schema]) }
    }),
  }
}

/** `#/components/schemas/KeyView` leads to it; anything else is what it is. */
export function lookUp<T extends object>(document: OpenApiView, value: object): T {
  if (!('$ref' in value) || typeof value.$ref !== 'string') return value as T
  let found: unknown = document
  for (const part of value.$ref.split('/').slice(1)) found = (found as Record<string, unknown> | undefined)?.[part]
  return (found ?? {}) as T
}

/** `KeyView`, of a schema that only names another. */
export const nameOf = (schema: SchemaView): string | undefined =>
  typeof schema.$ref === 'string' ? schema.$ref.split('/').at(-1) : undefined

// ── finding ─────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Wanted {
  readonly words: string
  readonly access: string
}

export function grouped(calls: readonly Call[], { words, access }: Wanted): readonly Group[] {
  const parts = words.toLowerCase().split(/\s+/).filter(Boolean)
  const found = calls.filter(call => (access === '' || call.access === access) && isAbout(call, parts))
  return [...Map.groupBy(found, ({ tag }) => tag)].map(([tag, calls]) => ({ tag, calls }))
}

function isAbout({ method, path, summary, tag, parameters, body }: Call, parts: readonly string[]): boolean {
  const fields = Object.keys((body?.schema.properties as object | undefined) ?? {})
  const names = parameters.map(({ name }) => name)
  const text = [`${method} ${path}`, summary, tag, ...names, ...fields].join(' ').toLowerCase()
  return parts.every(part => text.includes(part))
}
