import { useSignal } from '@preact/signals'
import type { OpenApiView, SchemaView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { lookUp, nameOf } from './document.ts'
import { Prose } from './prose.tsx'

interface SchemaProps {
  readonly schema: SchemaView
  readonly document: OpenApiView
}

/** A schema as a tree of names; what is deeper is unfolded by whoever wants to see it, so that nothing runs in circles. */
export function Schema({ schema: given, document }: SchemaProps) {
  const { schema, inside } = describe(given, document)
  return (
    <div class="api-schema">
      <p class="small faint">
        <Type schema={given} document={document} />
        {typeof schema.description === 'string' && (
          <>
            {' · '}
            <Prose text={schema.description} />
          </>
        )}
      </p>
      {inside && <Members schema={inside} document={document} />}
    </div>
  )
}

function Members({ schema, document }: SchemaProps) {
  const properties = Object.entries((schema.properties as Record<string, SchemaView> | undefined) ?? {})
  const required = Array.isArray(schema.required) ? schema.required : []
  return (
    <ul class="api-members">
      {properties.map(([name, property]) => (
        <Member key={name} name={name} schema={property} document={document} isRequired={required.includes(name)} />
      ))}
    </ul>
  )
}

interface MemberProps extends SchemaProps {
  readonly name: string
  readonly isRequired: boolean
}

function Member({ name, schema: given, document, isRequired }: MemberProps) {
  const isOpen = useSignal(false)
  const { schema, inside } = describe(given, document)
  const about = [given, schema, ...optionsOf(schema)].map(({ description }) => description).find(isText)
  const line = (
    <>
      <code class="strong">{name}</code>{' '}
      <span class="faint">
        <Type schema={given} document={document} />
        {!isRequired && ` · ${t().common.optional}`}
      </span>
      {about !== undefined && (
        <span class="api-about">
          <Prose text={about} />
        </span>
      )}
    </>
  )
  if (!inside) return <li>{line}</li>
  return (
    <li>
      <details open={isOpen.value} onToggle={event => (isOpen.value = event.currentTarget.open)}>
        <summary>{line}</summary>
        {isOpen.value && <Members schema={inside} document={document} />}
      </details>
    </li>
  )
}

/** What a schema is, and the object in it that has members to show: itself, one of its kinds, or what a list is of. */
function describe(given: SchemaView, document: OpenApiView): { schema: SchemaView; inside: SchemaView | undefined } {
  const schema = lookUp<SchemaView>(document, given)
  return { schema, inside: insideOf(schema, document) }
}

const DEPTH_MAX = 5

function insideOf(given: SchemaView, document: OpenApiView, depth = 0): SchemaView | undefined {
  const schema = lookUp<SchemaView>(document, given)
  if (schema.properties) return schema
  if (depth > DEPTH_MAX) return undefined
  const nested = [schema.items, schema.additionalProperties, ...optionsOf(schema)].filter(isSchema)
  return nested.map(option => insideOf(option, document, depth + 1)).find(found => found !== undefined)
}

const isText = (value: unknown): value is string => typeof value === 'string'

const isSchema = (value: unknown): value is SchemaView => typeof value === 'object' && value !== null

function optionsOf(schema: SchemaView): readonly SchemaView[] {
  const options = schema.anyOf ?? schema.oneOf ?? schema.allOf
  return Array.isArray(options) ? options : []
}

// ── types in words ──────────────────────────────────────────────────────────────────────────────────────────────────

function Type({ schema, document }: SchemaProps) {
  return <span class="api-type">{typeText(schema, document)}</span>
}

function typeText(given: SchemaView, document: OpenApiView): string {
  const texts = t().api.types
  const name = nameOf(given)
  if (name !== undefined) return name
  const options = optionsOf(given)
  if (options.length > 0) return [...new Set(options.map(option => typeText(option, document)))].join(' | ')
  if (given.const !== undefined) return JSON.stringify(given.const)
  if (Array.isArray(given.enum)) return given.enum.map(value => JSON.stringify(value)).join(' | ')
  if (given.type === 'array') return texts.listOf(isSchema(given.items) ? typeText(given.items, document) : texts.any)
  if (isSchema(given.additionalProperties)) return texts.mapOf(typeText(given.additionalProperties, document))
  const type = Array.isArray(given.type) ? given.type.join(' | ') : given.type
  return [type ?? texts.any, given.format, ...limitsOf(given)].filter(Boolean).join(' ')
}

/** Limits that a caller may run into. */
function limitsOf({ minimum, maximum, minLength, maxLength }: SchemaView): readonly string[] {
  return [
    ...(typeof minimum === 'number' ? [`≥ ${minimum}`] : []),
    ...(typeof maximum === 'number' ? [`≤ ${maximum}`] : []),
    ...(typeof minLength === 'number' && minLength > 1 ? [t().api.types.charactersMin(minLength)] : []),
    ...(typeof maxLength === 'number' ? [t().api.types.charactersMax(maxLength)] : []),
  ]
}
