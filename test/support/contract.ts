import type { ContentView, OpenApiView, OperationView, ReferenceView, ResponseView } from '../../src/admin/contract.ts'
import { faultsOf } from '../sandbox/checker.ts'
import type { JsonBody } from './duet.ts'

/** What the management API answered. */
export interface AdminAnswer {
  readonly status: number
  readonly body: JsonBody
}

/** Reads an answer, and holds it against the description of its route: every test proves a part of the document. */
export async function readAnswer(method: string, path: string, response: Response): Promise<AdminAnswer> {
  const { status } = response
  const [type = ''] = (response.headers.get('content-type') ?? '').split(';')
  const text = await response.text()
  const body = text === '' ? {} : type === JSON_TYPE ? JSON.parse(text) : text
  const faults = await faultsOfAnswer({ method, path, status, type, text, body })
  if (faults.length > 0) {
    throw new Error(`${method} ${path} answered ${status}, against its description:\n${faults.join('\n')}`)
  }
  return { status, body }
}

interface Answered extends AdminAnswer {
  readonly method: string
  readonly path: string
  readonly type: string
  readonly text: string
}

const JSON_TYPE = 'application/json'
const ERROR = { $ref: '#/components/schemas/ErrorView' }

async function faultsOfAnswer(answered: Answered): Promise<readonly string[]> {
  const document = await theDocument()
  const { status, body } = answered
  const operation = operationFor(answered, document)
  // Whoever asks for what there is not, or finds a server that fails, gets an error like any other.
  if (!operation || status >= 500) return status < 400 ? ['nothing is described'] : check(body, ERROR, document)
  const described = operation.responses[status]
  if (!described) return [`only ${Object.keys(operation.responses).join(', ')} are described`]
  const { content } = '$ref' in described ? resolve(described, document) : described
  return content ? faultsOfContent(answered, content, document) : answered.text === '' ? [] : ['no body is described']
}

function faultsOfContent({ type, body }: Answered, content: ContentView, document: OpenApiView): readonly string[] {
  const expected = content[type]
  if (!expected) return [`${type} is none of ${Object.keys(content).join(', ')}`]
  return type === JSON_TYPE ? check(body, expected.schema, document) : []
}

const check = (value: JsonBody, schema: object, document: OpenApiView): readonly string[] =>
  faultsOf(value, schema as JsonBody, document as JsonBody)

function operationFor({ method, path }: Answered, { paths }: OpenApiView): OperationView | undefined {
  const segments = path.replace(/\?.*/, '').replace(/\/+$/, '').split('/')
  const [best] = Object.entries(paths)
    .filter(([template, operations]) => method.toLowerCase() in operations && fits(template.split('/'), segments))
    .toSorted(([a], [b]) => a.split('{').length - b.split('{').length)
  return best?.[1][method.toLowerCase()]
}

const fits = (template: readonly string[], segments: readonly string[]): boolean =>
  template.length === segments.length && template.every((part, place) => part[0] === '{' || part === segments[place])

const resolve = ({ $ref }: ReferenceView, { components }: OpenApiView): ResponseView => {
  const found = components.responses[$ref.slice('#/components/responses/'.length)]
  if (!found) throw new Error(`there is no ${$ref}`)
  return found
}

let document: Promise<OpenApiView> | undefined

/** Made when it is needed for the first time: most tests have nothing to do with the management API. */
function theDocument(): Promise<OpenApiView> {
  document ??= Promise.all([import('../../src/admin/api.ts'), import('../../src/admin/openapi.ts')]).then(
    ([{ ROUTES }, { describeRoutes }]) => describeRoutes(ROUTES, '0'),
  )
  return document
}
