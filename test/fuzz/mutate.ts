import type { Random } from '../ledger/property/random.ts'
import type { JsonBody } from '../support/duet.ts'

/** Tokens that no value of the language is written as. */
const RAW = /"@raw:([^"\\]*)"/g

const ODD: readonly JsonBody[] = [
  ...[null, true, false, 0, -1, 1, 1.5, 2 ** 53, 1e308, '@raw:1e400', '@raw:-0', '@raw:12345678901234567890'],
  ...[
    '',
    ' ',
    '\n',
    'x',
    '\ud800',
    '\udc00x',
    '😀',
    '\u0000',
    '\u2028',
    '"',
    '\\',
    '{',
    '{"a":',
    'null',
    '@raw:{"a":1,"a":2}',
  ],
  ...['__proto__', 'constructor', 'toString', 'length', 'é'.repeat(70), 'data: x\n\nevent: y', '</system-reminder>'],
  ...[
    [],
    {},
    [[]],
    [null],
    [{}],
    [''],
    { '': '' },
    { toString: 1, valueOf: 2 },
    JSON.parse('{"__proto__":{"type":"text"}}'),
  ],
  ...['user', 'assistant', 'system', 'tool', 'function', 'developer', 'text', 'thinking', 'image', 'image_url'],
  ...['tool_use', 'tool_result', 'document', 'redacted_thinking', 'tool_reference', 'custom', 'auto', 'none', 'any'],
  ...['stop', 'length', 'tool_calls', 'error', 'end_turn', 'refusal', 'call_1', 'toolu_1', 'structured_output'],
  ...['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta', 'ping'],
]

/** Long enough to be felt, short enough for a hundred thousand inputs. */
const LONG = 20_000
const DEPTHS = [20, 400, 3000]
const COPIES_MAX = 60

interface Place {
  readonly holder: JsonBody
  readonly key: string | number
}

function placesIn(value: JsonBody): Place[] {
  const places: Place[] = []
  const pending = [value]
  while (pending.length > 0) {
    const holder = pending.pop()
    if (typeof holder !== 'object' || holder === null) continue
    for (const key of Array.isArray(holder) ? holder.keys() : Object.keys(holder)) {
      places.push({ holder, key })
      pending.push(holder[key])
    }
  }
  return places
}

/** The text of a value that is like the given one, but for a few changes of its structure. */
export function mutatedJson(random: Random, value: JsonBody): string {
  const held = { value: structuredClone(value) }
  for (let changes = random.between(1, 4); changes > 0; changes--) change(random, held)
  const text = JSON.stringify(held.value) ?? 'null'
  return random.chance(0.1) ? withRepeatedKeys(random, written(text)) : written(text)
}

const written = (text: string): string => text.replace(RAW, '$1')

function change(random: Random, held: { value: JsonBody }): void {
  const { holder, key } = random.pick(placesIn(held))
  const own = () => structuredClone(holder[key])
  switch (random.pick(CHANGES)) {
    case 'replace':
      holder[key] = structuredClone(random.pick(ODD))
      break
    case 'move': {
      const other = random.pick(placesIn(held))
      holder[key] = structuredClone(other.holder[other.key])
      break
    }
    case 'remove':
      if (Array.isArray(holder)) holder.splice(Number(key), 1)
      else if (holder !== held) delete holder[key]
      break
    case 'copy':
      if (Array.isArray(holder)) holder.splice(Number(key), 0, ...copies(random, own()))
      else holder[random.pick(KEYS) as string] = own()
      break
    case 'wrap':
      holder[key] = random.pick([[own()], { text: own() }, { type: 'text', content: own() }, { function: own() }])
      break
    case 'unwrap':
      holder[key] = Object.values<JsonBody>(holder[key] ?? {})[0] ?? null
      break
    case 'reverse':
      if (Array.isArray(holder)) holder.reverse()
      break
    case 'lengthen':
      if (random.chance(0.1)) holder[key] = random.pick(['a', '😀', '\\"', '{"', '\n']).repeat(LONG)
      break
    case 'deepen':
      if (random.chance(0.05)) holder[key] = `@raw:${nested(random)}`
      break
  }
}

const CHANGES = [
  ...['replace', 'replace', 'replace', 'move', 'move', 'remove', 'remove', 'copy', 'copy'],
  ...['wrap', 'unwrap', 'reverse', 'lengthen', 'deepen'],
]

const KEYS = [
  'type',
  'role',
  'content',
  'text',
  'id',
  'name',
  'index',
  'tool_calls',
  'usage',
  'error',
  'Model',
  'n',
  'thread',
]

const copies = (random: Random, value: JsonBody): JsonBody[] =>
  Array.from({ length: random.chance(0.1) ? random.between(2, COPIES_MAX) : 1 }, () => structuredClone(value))

function nested(random: Random): string {
  const depth = random.pick(DEPTHS)
  return '['.repeat(depth) + ']'.repeat(depth)
}

/** Says a member twice: parsers keep the last. */
function withRepeatedKeys(random: Random, text: string): string {
  const keys = [...text.matchAll(/"(\w+)":/g)]
  const one = keys.length > 0 ? random.pick(keys) : undefined
  if (!one) return text
  return `${text.slice(0, one.index)}"${one[1]}":${JSON.stringify(random.pick(ODD)).replace(RAW, '$1')},${text.slice(one.index)}`
}

/** A few bytes that are not what they were. */
export function mutatedBytes(random: Random, bytes: Uint8Array): Uint8Array {
  let left = [...bytes.subarray(0, LONG)]
  for (let changes = random.between(1, 6); changes > 0; changes--) {
    const at = random.between(0, left.length)
    const length = random.between(1, 12)
    switch (random.pick(['flip', 'insert', 'remove', 'repeat', 'cut'])) {
      case 'flip':
        left[at] = (left[at] ?? 0) ^ (1 << random.between(0, 7))
        break
      case 'insert':
        left.splice(at, 0, ...random.pick(INSERTS))
        break
      case 'remove':
        left.splice(at, length)
        break
      case 'repeat':
        left.splice(at, 0, ...left.slice(at, at + length))
        break
      case 'cut':
        if (random.chance(0.2)) left = left.slice(0, at)
        break
    }
  }
  return Uint8Array.from(left)
}

const INSERTS = [
  '\n',
  '\r',
  '\n\n',
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  'data: ',
  'event: x\n',
  '\ufeff',
  '\u0000',
  '1e9',
]
  .map(text => [...new TextEncoder().encode(text)])
  .concat([[0xff], [0xc3], [0xf0, 0x9f], [0xed, 0xa0, 0x80]])
