import { isObject, type Json, parse, text } from './answer.ts'

export interface Tool {
  readonly name: string
  readonly description: string
  readonly schema: Json
}

/** Why a text is no list of tools; `at` counts from one. */
export type ToolsFault = { readonly kind: 'json' | 'list' } | { readonly kind: 'name' | 'twice'; readonly at: number }

export type Tools =
  | { readonly tools: readonly Tool[]; readonly fault: null }
  | { readonly tools: null; readonly fault: ToolsFault }

/** Takes the words of either protocol, since people paste what they have. */
export function readTools(typed: string): Tools {
  if (typed.trim() === '') return { tools: [], fault: null }
  const value = parse(typed)
  if (value === undefined) return { tools: null, fault: { kind: 'json' } }
  if (!Array.isArray(value)) return { tools: null, fault: { kind: 'list' } }
  const tools: Tool[] = []
  for (const [place, item] of value.entries()) {
    const tool = toolOf(item)
    if (!tool) return { tools: null, fault: { kind: 'name', at: place + 1 } }
    if (tools.some(({ name }) => name === tool.name)) return { tools: null, fault: { kind: 'twice', at: place + 1 } }
    tools.push(tool)
  }
  return { tools, fault: null }
}

function toolOf(item: unknown): Tool | undefined {
  if (!isObject(item)) return undefined
  const said = isObject(item.function) ? item.function : item
  const name = text(said.name)
  if (name === '') return undefined
  const schema = said.parameters ?? said.input_schema
  return { name, description: text(said.description), schema: isObject(schema) ? schema : { type: 'object' } }
}

/** A question that most models call it for is in the texts. */
export const EXAMPLE_TOOLS = JSON.stringify(
  [
    {
      name: 'get_weather',
      description: 'The weather in a city right now.',
      input_schema: {
        type: 'object',
        properties: {
          city: { type: 'string', description: 'Such as Paris.' },
          unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
        },
        required: ['city'],
      },
    },
  ],
  null,
  2,
)

/** What the example would answer. */
export const EXAMPLE_RESULT = '{"temperature": 18, "unit": "celsius", "sky": "clear"}'
