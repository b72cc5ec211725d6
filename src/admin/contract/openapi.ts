/** `GET /api/openapi.json`, as far as it is used here: an OpenAPI 3.1 document made of the routes. */
export interface OpenApiView {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string }[]
  /** By path and method, in small letters. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationView>>>>
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly components: {
    readonly schemas: Readonly<Record<string, SchemaView>>
    readonly responses: Readonly<Record<string, ResponseView>>
    readonly parameters: Readonly<Record<string, ParameterView>>
    readonly securitySchemes: Readonly<Record<string, unknown>>
  }
}

export interface OperationView {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  /** Who may call it. */
  readonly 'x-duet-access': 'open' | 'member' | 'admin'
  /** Empty where nothing is needed; absent where the document's own holds. */
  readonly security?: readonly []
  readonly parameters: readonly (ParameterView | ReferenceView)[]
  readonly requestBody?: { readonly required: boolean; readonly content: ContentView }
  readonly responses: Readonly<Record<string, ResponseView | ReferenceView>>
}

export interface ParameterView {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description?: string
  readonly schema: SchemaView
}

export interface ResponseView {
  readonly description: string
  readonly headers?: Readonly<Record<string, { readonly description: string; readonly schema: SchemaView }>>
  readonly content?: ContentView
}

/** By media type. */
export type ContentView = Readonly<Record<string, { readonly schema: SchemaView }>>

export interface ReferenceView {
  readonly $ref: string
}

/** JSON Schema, draft 2020-12. */
export interface SchemaView {
  readonly [keyword: string]: unknown
}
