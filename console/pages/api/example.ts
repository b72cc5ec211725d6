import type { OpenApiView, SchemaView } from '../../../src/admin/contract.ts'
import { type Call, lookUp } from './document.ts'

/** A call for a shell. What has to be filled in stands in `<>`; the token is left to the environment. */
export function curlOf(call: Call, document: OpenApiView, origin: string): string {
  const { method, path, access, body } = call
  const lines = [
    `curl${method === 'GET' ? '' : ` -X ${method}`} '${origin}${path.replace(/\{(\w+)\}/g, '<$1>')}'`,
    ...(access === 'open' ? [] : [`-H "Authorization: Bearer $DUET_ADMIN_TOKEN"`]),
    ...(isForBrowsers(call) ? [`-H 'x-duet-console: 1'`] : []),
    ...(body ? [`-H 'Content-Type: application/json'`] : []),
    ...(body ? [`-d '${JSON.stringify(sample(body.schema, document), null, 2).replaceAll("'", "'\\''")}'`] : []),
  ]
  return lines.join(' \\\n  ')
}

/** What anybody may call and changes something gives a session, and that only to the console. */
const isForBrowsers = ({ method, access }: Call): boolean => access === 'open' && method !== 'GET'

const DEPTH_MAX = 6

/** The least that is valid: what must be there, with plausible values; all of it, where nothing must be. */
export function sample(given: SchemaView, document: OpenApiView, depth = 0): unknown {
  const schema = lookUp<SchemaView>(document, given)
  if (depth > DEPTH_MAX) return null
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined) return schema.default
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const [first] = [schema.anyOf, schema.oneOf, schema.allOf].flatMap(options => (Array.isArray(options) ? options : []))
  if (first) return sample(first, document, depth + 1)
  const [type] = Array.isArray(schema.type) ? schema.type : [schema.type]
  switch (type) {
    case 'object':
      return sampleObject(schema, document, depth)
    case 'array':
      return [sample((schema.items as SchemaView | undefined) ?? {}, document, depth + 1)]
    case 'integer':
    case 'number':
      return typeof schema.minimum === 'number' ? schema.minimum : 1
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return sampleText(schema)
  }
}

function sampleObject(schema: SchemaView, document: OpenApiView, depth: number): object {
  const properties = Object.entries((schema.properties as Record<string, SchemaView> | undefined) ?? {})
  const required = Array.isArray(schema.required) ? schema.required : []
  const shown = required.length > 0 ? properties.filter(([name]) => required.includes(name)) : properties.slice(0, 3)
  return Object.fromEntries(shown.map(([name, property]) => [name, sample(property, document, depth + 1)]))
}

function sampleText({ format, minLength }: SchemaView): string {
  if (format === 'decimal') return '12.50'
  if (format === 'date-time') return '2027-01-01T00:00:00Z'
  if (format === 'uri') return 'https://example.com/hook'
  return typeof minLength === 'number' && minLength > 8
    ? '<at least '.concat(String(minLength), ' characters>')
    : '<text>'
}
