import { z } from 'zod'
import type { SchemaView } from './contract.ts'
import * as contract from './contract.ts'

export const COMPONENTS = '#/components/schemas/'

/** Turns the schemas of routes into those of a document, and collects the views they name. */
export class SchemaCollector {
  readonly named: Record<string, SchemaView> = {}

  constructor() {
    nameViews()
  }

  /** What a caller may send. */
  input(schema: z.ZodType): SchemaView {
    return this.convert(schema, 'input')
  }

  /** What a caller is sent. */
  output(schema: z.ZodType): SchemaView {
    return this.convert(schema, 'output')
  }

  private convert(schema: z.ZodType, io: 'input' | 'output'): SchemaView {
    const converted = z.toJSONSchema(schema, { io, override: ({ jsonSchema }) => tidy(jsonSchema) })
    const text = JSON.stringify(converted).replaceAll('"#/$defs/', `"${COMPONENTS}`)
    const { $schema, $defs, ...own } = JSON.parse(text)
    Object.assign(this.named, $defs)
    return own
  }
}

/** What the contract exports with a capital letter is known by that name. */
function nameViews(): void {
  for (const [name, view] of Object.entries(contract)) {
    if (!(view instanceof z.ZodType) || !/^[A-Z]/.test(name)) continue
    const known = z.globalRegistry.get(view)
    if (known?.id === undefined) z.globalRegistry.add(view, { ...known, id: name })
  }
}

type JsonSchema = Parameters<NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override'] & {}>[0]['jsonSchema']

/** Says what people mean, instead of all that the checking code knows. */
function tidy(schema: JsonSchema): void {
  // Numbers are understood, too, but lose digits on the way: whoever writes a client should send strings.
  if (schema.format === 'decimal') {
    schema.type = 'string'
    delete schema.anyOf
  }
  // That we do not change an answer is of no interest to its reader.
  delete schema.readOnly
  // Every name of a member is a string, and every integer has the bounds of a JavaScript number.
  delete schema.propertyNames
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
}
