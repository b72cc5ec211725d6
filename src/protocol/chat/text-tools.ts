import { isObject, type JsonObject } from '../../core/ask.ts'
import type { Schema } from '../../core/turn.ts'
import { asText } from '../fields.ts'
import { schemaOf } from '../schema.ts'

/**
 * Tools that take plain text (`type: custom`), for upstreams whose tools all take JSON: the text travels as the one
 * member of an object.
 */

function grammarOf({ format }: JsonObject): string | undefined {
  return isObject(format) && isObject(format.grammar) ? asText(format.grammar.definition) : undefined
}

export const hasGrammar = (custom: JsonObject): boolean => grammarOf(custom) !== undefined

/** A grammar cannot be enforced by the other dialect; a model that sees it may still follow it. */
export function textInputSchema(custom: JsonObject): Schema {
  const grammar = grammarOf(custom)
  const input = { type: 'string', ...(grammar ? { description: `Must follow this grammar:\n${grammar}` } : {}) }
  return schemaOf({ type: 'object', properties: { input }, required: ['input'] })
}

export const wrapText = (input: string): string => JSON.stringify({ input })

/** What a model that did not keep to the schema wrote is its text all the same. */
export function unwrapText(made: string): string {
  try {
    const { input } = JSON.parse(made)
    if (typeof input === 'string') return input
  } catch {}
  return made
}
