import type { TextSize } from '../core/ask.ts'
import { members, root } from './json.ts'

/** What a model reads; the rest of a request is switches, and must not make a stream cost more than a whole answer. */
const READ_BY_MODEL = new Set(['messages', 'system', 'tools', 'functions', 'response_format', 'output_config'])

export function promptSize(text: string): TextSize {
  let characters = 0
  let bytes = 0
  for (const { key, start, end } of members(text, root(text))) {
    if (!READ_BY_MODEL.has(key)) continue
    characters += end - start
    bytes += Buffer.byteLength(text.slice(start, end))
  }
  return { characters, bytes }
}
