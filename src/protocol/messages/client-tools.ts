import type { JsonObject } from '../../core/ask.ts'
import type { Tool } from '../../core/turn.ts'
import { schemaOf } from '../schema.ts'

/**
 * Tools that the dialect's vendor defines and the caller runs: their schemas are known to its own models only, so other
 * models are told what they take. Tools that the vendor runs itself have no equal elsewhere.
 */

const text = { type: 'string' }
const integer = { type: 'integer' }
const pair = { type: 'array', items: integer, minItems: 2, maxItems: 2 }
const oneOf = (...values: string[]) => ({ type: 'string', enum: values })

interface Known {
  /** The beginning of its type; a date follows. */
  readonly type: string
  readonly description: string
  readonly required: readonly string[]
  readonly properties: JsonObject
}

const KNOWN: readonly Known[] = [
  {
    type: 'bash_',
    description: 'Runs a command in a persistent bash session.',
    required: [],
    properties: { command: text, restart: { type: 'boolean' } },
  },
  {
    type: 'text_editor_',
    description: 'Views, creates and edits text files.',
    required: ['command', 'path'],
    properties: {
      command: oneOf('view', 'create', 'str_replace', 'insert'),
      path: text,
      file_text: text,
      old_str: text,
      new_str: text,
      insert_line: integer,
      insert_text: text,
      view_range: pair,
    },
  },
  {
    type: 'memory_',
    description: 'Keeps notes in files that last from one conversation to the next.',
    required: ['command'],
    properties: {
      command: oneOf('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
      path: text,
      view_range: pair,
      file_text: text,
      old_str: text,
      new_str: text,
      insert_line: integer,
      insert_text: text,
      old_path: text,
      new_path: text,
    },
  },
  {
    type: 'computer_',
    description: 'Uses the mouse, the keyboard and the screen of a computer.',
    required: ['action'],
    properties: {
      action: text,
      coordinate: pair,
      start_coordinate: pair,
      text,
      duration: { type: 'number' },
      scroll_direction: oneOf('up', 'down', 'left', 'right'),
      scroll_amount: integer,
    },
  },
]

export function clientTool({ type, name }: JsonObject): Tool | undefined {
  const known = KNOWN.find(candidate => typeof type === 'string' && type.startsWith(candidate.type))
  if (!known || typeof name !== 'string') return undefined
  const { description, properties, required } = known
  return { name, description, strict: false, schema: schemaOf({ type: 'object', properties, required }) }
}
