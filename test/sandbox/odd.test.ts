import { expect, test } from 'bun:test'
import { type Json, type JsonObject, PROTOCOLS, type Protocol, post, useSandbox } from './support.ts'
import { answer, CALLS, result, USES } from './turns.ts'

const sandbox = useSandbox()

for (const protocol of PROTOCOLS) {
  test(`${protocol}: whatever is put in place of a member, the answer is 200 or 400`, async () => {
    const odd: readonly Json[] = [
      null,
      true,
      -1,
      1e308,
      '',
      ' ',
      'x',
      [],
      [[]],
      [null],
      {},
      { type: 'x' },
      { a: { b: [] } },
    ]
    const request = rich(protocol)
    const statuses = new Set<number>()
    for (const path of pathsIn(request)) {
      const answers = odd.map(value => post(sandbox.url, protocol, JSON.stringify(replaced(request, path, value))))
      for (const response of await Promise.all(answers)) {
        statuses.add(response.status)
        await response.text()
      }
    }
    expect([...statuses].sort()).toEqual([200, 400])
  })
}

/** A request in which everything that is read occurs. */
function rich(protocol: Protocol): JsonObject {
  const user = { role: 'user', content: [{ type: 'text', text: 'weather' }] }
  const schema = { type: 'object', properties: { a: { type: 'integer', minimum: 1 } }, required: ['a'] }
  if (protocol === 'chat') {
    return {
      model: 'acme/think',
      messages: [{ role: 'system', content: 's' }, user, CALLS, answer('a'), answer('b'), user],
      tools: [{ type: 'function', function: { name: 'weather', description: 'd', parameters: schema } }],
      tool_choice: { type: 'function', function: { name: 'weather' } },
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema } },
      stop: ['x'],
      stream_options: { include_usage: true },
      max_tokens: 50,
    }
  }
  return {
    model: 'acme/think',
    max_tokens: 2000,
    system: [{ type: 'text', text: 's' }],
    messages: [user, USES, { role: 'user', content: [result('a'), result('b', [{ type: 'text', text: 'r' }])] }, user],
    tools: [{ name: 'weather', description: 'd', input_schema: schema }],
    tool_choice: { type: 'tool', name: 'weather', disable_parallel_tool_use: true },
    output_config: { format: { type: 'json_schema', schema } },
    stop_sequences: ['x'],
    thinking: { type: 'enabled', budget_tokens: 1024 },
  }
}

type Path = readonly (string | number)[]

function pathsIn(value: Json, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  const members = Array.isArray(value) ? value.entries() : Object.entries(value)
  return [path, ...[...members].flatMap(([key, member]) => pathsIn(member, [...path, key]))]
}

function replaced(value: Json, [key, ...rest]: Path, by: Json): Json {
  if (key === undefined) return by
  if (Array.isArray(value)) return value.map((member, at) => (at === key ? replaced(member, rest, by) : member))
  if (typeof value !== 'object' || value === null) return value
  return { ...value, [key]: replaced(value[key] ?? null, rest, by) }
}
