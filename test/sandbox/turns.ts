import type { Json, JsonObject } from './support.ts'

export const USER = { role: 'user', content: 'Hi' }
export const CALLS = { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] }
export const USES = { role: 'assistant', content: [use('a'), use('b')] }

export function call(id: string): JsonObject {
  return { id, type: 'function', function: { name: 'f', arguments: '{}' } }
}

export function answer(id: string): JsonObject {
  return { role: 'tool', tool_call_id: id, content: 'done' }
}

export function use(id: string): JsonObject {
  return { type: 'tool_use', id, name: 'f', input: {} }
}

export function result(id: string, content: Json = 'done'): JsonObject {
  return { type: 'tool_result', tool_use_id: id, content }
}
