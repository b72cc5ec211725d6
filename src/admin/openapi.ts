import { z } from 'zod'
import {
  ErrorView,
  type OpenApiView,
  type OperationView,
  type ParameterView,
  type ReferenceView,
  type ResponseView,
} from './contract.ts'
import { SchemaCollector } from './json-schema.ts'
import { type Access, ok, type Route, type Routes } from './route.ts'

export interface OpenApiDeps {
  readonly version: string
}

type AnyRoute = Pick<Route<never>, 'access' | 'summary' | 'query' | 'body' | 'answers' | 'media' | 'errors'>
export type AnyRoutes = Readonly<Record<string, AnyRoute>>

/** The routes are given later: they have this one among them. */
export function openApiRoutes(routes: () => AnyRoutes): Routes<OpenApiDeps> {
  let document: OpenApiView | undefined
  return {
    'GET /openapi.json': {
      access: 'open',
      summary: 'This description',
      answers: { 200: z.record(z.string(), z.unknown()).describe('An OpenAPI 3.1 document.') },
      handle: async ({ deps }) => {
        document ??= describeRoutes(routes(), deps.version)
        return ok(document)
      },
    },
  }
}

const DESCRIPTION = `The management API of Duet: everything that its console and its command line do.

Amounts are decimal strings in dollars, times are ISO 8601 in UTC. Lists come in pages: \`next\` is the \`cursor\` of the
next one, and null on the last. Accounts and users may be named by their id or by their name.`

export function describeRoutes(routes: AnyRoutes, version: string): OpenApiView {
  const schemas = new SchemaCollector()
  const paths: Record<string, Record<string, OperationView>> = {}
  for (const [name, route] of Object.entries(routes)) {
    const { method, path } = placeOf(name)
    paths[path] = { ...paths[path], [method.toLowerCase()]: describeRoute(name, route, schemas) }
  }
  const responses = describeErrors(schemas)
  const tags = new Set(
    Object.values(paths).flatMap(operations => Object.values(operations).flatMap(({ tags }) => tags)),
  )
  return {
    openapi: '3.1.1',
    info: { title: 'Duet management API', version, description: DESCRIPTION },
    servers: [{ url: '/' }],
    tags: [...tags].map(name => ({ name })),
    paths,
    security: [{ adminToken: [] }, { session: [] }],
    components: {
      schemas: schemas.named,
      responses,
      parameters: { FromConsole: FROM_CONSOLE },
      securitySchemes: SECURITY_SCHEMES,
    },
  }
}

// ── who may ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const SECURITY_SCHEMES = {
  adminToken: {
    type: 'http',
    scheme: 'bearer',
    description: '`DUET_ADMIN_TOKEN`: an admin, and nobody in particular.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'duet_session',
    description:
      'Set by a sign-in. Whatever changes something must come from the console itself (`x-duet-console: 1`).',
  },
}

const FROM_CONSOLE: ParameterView = {
  name: 'x-duet-console',
  in: 'header',
  required: false,
  description: 'Needed with a session cookie, and to get one: pages of other sites cannot send it.',
  schema: { type: 'string', const: '1' },
}

const WHO: Record<Access, string> = {
  open: 'Open to everyone.',
  member: 'For everyone who is signed in; members see their own account.',
  admin: 'For admins.',
}

// ── one route ───────────────────────────────────────────────────────────────────────────────────────────────────────

const JSON_TYPE = 'application/json'

function describeRoute(name: string, route: AnyRoute, schemas: SchemaCollector): OperationView {
  const { method, path, segments } = placeOf(name)
  const { access, summary, body } = route
  return {
    operationId: operationId(method, segments),
    summary,
    description: WHO[access],
    tags: [firstWord(segments)],
    'x-duet-access': access,
    ...(access === 'open' ? { security: [] } : {}),
    parameters: [...pathParameters(path), ...queryParameters(route), ...consoleParameters(method)],
    ...(body
      ? { requestBody: { required: isNeeded(body), content: contentOf({ [JSON_TYPE]: schemas.input(body) }) } }
      : {}),
    responses: {
      ...describeAnswers(route, schemas),
      ...Object.fromEntries(errorsOf(name, route).map(status => [status, reference(ERRORS[status].name)])),
    },
  }
}

interface Place {
  readonly method: string
  /** With `/api`, and with names in place of every `*`. */
  readonly path: string
  readonly segments: readonly string[]
}

function placeOf(name: string): Place {
  const [method = '', below = ''] = name.split(' ')
  const parts = below.split('/').slice(1)
  const segments = parts.map((part, place) => (part === '*' ? `{${parameterName(parts, place)}}` : part))
  return { method, path: ['/api', ...segments].join('/'), segments }
}

/** Channels go by their names. */
function parameterName(parts: readonly string[], place: number): string {
  if (parts.indexOf('*') < place) return 'key'
  return parts[place - 1] === 'channels' ? 'name' : 'id'
}

const firstWord = (segments: readonly string[]): string => segments[0]?.replace(/\..*/, '') ?? ''

/** `GET /accounts/{id}/entries.csv`: `getAccountsByIdEntriesCsv` */
function operationId(method: string, segments: readonly string[]): string {
  const words = segments.flatMap(segment => segment.replace(/^\{(\w+)\}$/, 'by-$1').split(/[^a-z]/))
  return method.toLowerCase() + words.map(word => `${word[0]?.toUpperCase() ?? ''}${word.slice(1)}`).join('')
}

const pathParameters = (path: string): ParameterView[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))

const queryParameters = ({ query = {} }: AnyRoute): ParameterView[] =>
  Object.entries(query).map(([name, description]) => ({
    name,
    in: 'query',
    required: false,
    description,
    schema: name === 'limit' ? { type: 'integer', minimum: 1 } : { type: 'string' },
  }))

const consoleParameters = (method: string): ReferenceView[] =>
  method === 'GET' ? [] : [{ $ref: '#/components/parameters/FromConsole' }]

/** A body all of whose members may be left out may be left out itself. */
const isNeeded = (body: z.ZodType): boolean => !body.safeParse({}).success

// ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const DONE: Readonly<Record<string, string>> = { 200: 'Done.', 201: 'Made.', 204: 'Done, and nothing to tell.' }

function describeAnswers({ answers, media = {} }: AnyRoute, schemas: SchemaCollector): Record<string, ResponseView> {
  const described = Object.entries(answers).map(([status, answer]): [string, ResponseView] => {
    const types = { ...(answer ? { [JSON_TYPE]: answer } : {}), ...media }
    const content = Object.fromEntries(Object.entries(types).map(([type, schema]) => [type, schemas.output(schema)]))
    const description = DONE[status] ?? ''
    return [status, Object.keys(content).length === 0 ? { description } : { description, content: contentOf(content) }]
  })
  return Object.fromEntries(described)
}

const contentOf = (schemas: Readonly<Record<string, object>>) =>
  Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema: { ...schema } }]))

const ERRORS = {
  400: { name: 'NotJson', description: 'The body is not JSON.' },
  401: { name: 'Unauthorized', description: 'Nobody is signed in, or name and password do not fit.' },
  403: { name: 'Forbidden', description: 'Not for members, or not from another site.' },
  404: { name: 'NotFound', description: 'There is no such thing, or it belongs to somebody else.' },
  409: { name: 'Conflict', description: 'It does not fit to what is there already.' },
  413: { name: 'TooLarge', description: 'The body is too large.' },
  422: { name: 'Invalid', description: 'A field is at fault; `param` says which.' },
  429: { name: 'TooManyAttempts', description: 'Too many attempts.' },
  503: { name: 'Busy', description: 'Not at this moment.' },
} as const

export type ErrorStatus = keyof typeof ERRORS

/** What may go wrong. Most of it follows from what a route takes; the rest it says itself. */
export function errorsOf(name: string, { access, query = {}, body, errors = [] }: AnyRoute): ErrorStatus[] {
  const isGet = name.startsWith('GET ')
  const takesIds = name.includes('*')
  const derived: Record<ErrorStatus, boolean> = {
    400: body !== undefined,
    401: access !== 'open',
    403: access === 'admin' || !isGet,
    404: takesIds || 'account' in query,
    409: false,
    413: body !== undefined,
    422: body !== undefined || Object.keys(query).length > 0,
    429: false,
    503: false,
  }
  const statuses = Object.keys(ERRORS).map(status => Number(status) as ErrorStatus)
  return statuses.filter(status => derived[status] || errors.includes(status))
}

const RETRY_AFTER = { description: 'Seconds until another try makes sense.', schema: { type: 'integer' } }

function describeErrors(schemas: SchemaCollector): Record<string, ResponseView> {
  const content = contentOf({ [JSON_TYPE]: schemas.output(ErrorView) })
  return Object.fromEntries(
    Object.entries(ERRORS).map(([status, { name, description }]): [string, ResponseView] => {
      const headers = status === '429' || status === '503' ? { headers: { 'retry-after': RETRY_AFTER } } : {}
      return [name, { description, ...headers, content }]
    }),
  )
}

const reference = (name: string): ReferenceView => ({ $ref: `#/components/responses/${name}` })
