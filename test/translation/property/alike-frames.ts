import type { ProtocolName } from '../../../src/core/ask.ts'
import type { Random } from './cases.ts'

/** Texts of frames as they stand between the quotes: what is usual, what must be escaped, and what is no JSON at all. */
const INSIDES = [
  ...['tide', ' ', 'a', '0123456789', 'content', 'Hello, world', '', '}]}', 'data: x'],
  ...['é', '汉字', '😀', 'naïve 😀 汉', '\u2028', '\ufeff', '\u007f', '\u0080', '\u07ff', '\u0800', '\uffff'],
  ...['\\n', '\\n\\n', '\\"', '\\\\', '\\\\\\"', '\\t\\r\\b\\f', 'a \\"quoted\\" word', '\\/', '\\u00e9', '\\u0000'],
  ...['\\ud83d', '\\ude00', '\\ud83d\\ude00', 'x\\ud83d', '\\ude00y', '\\u0041'],
  ...['{\\"a\\":1}', '{\\"a\\":', '[1', '1}', ' {', '```json\\n{'],
]
const BROKEN = ['\t', '\u0001', '\\x', '\\u12', '"', '\\']

type Data = (inside: string) => string

const chunk =
  (choices: (inside: string) => string, { before = HEAD, after = '' } = {}): Data =>
  inside =>
    `{${before},"choices":[${choices(inside)}]${after}}`
const delta =
  (members: (inside: string) => string, more = ',"logprobs":null,"finish_reason":null') =>
  (inside: string) =>
    `{"index":0,"delta":{${members(inside)}}${more}}`

const HEAD = '"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m"'
const content = (inside: string) => `"content":"${inside}"`
const PLAIN = chunk(delta(content))

const CHAT: readonly Data[] = [
  PLAIN,
  PLAIN,
  PLAIN,
  chunk(delta(content), { before: HEAD.replace('chatcmpl-1', 'chatcmpl-2') }),
  chunk(delta(content), { before: HEAD.replace('"m"', '"another"') }),
  chunk(delta(content), { before: HEAD.replace('7', '8') }),
  chunk(delta(content), { before: '"id":"x","error":null' }),
  chunk(delta(content), { before: ' "model" : "content" , "id":1' }),
  chunk(delta(content), { after: ',"usage":null,"service_tier":"default"' }),
  chunk(delta(content), { after: ',"usage":{"prompt_tokens":5,"completion_tokens":3}' }),
  chunk(delta(content), { after: ',"model":"twice"' }),
  inside => PLAIN(inside).replace(/}$/, () => `,"usage":null,"obfuscation":"${inside}"}`),
  inside => PLAIN(inside).replace(/}$/, () => `,"p":"${inside.slice(-2)}","p":"${inside.slice(-1)}"}`),
  inside => PLAIN(inside).replace('{', () => `{"p":"${inside.length}",`),
  inside => PLAIN(inside).replace(/}$/, () => `,"p":${inside.length}}`),
  chunk(delta(inside => `"role":"assistant",${content(inside)}`)),
  chunk(delta(inside => `"content":"first",${content(inside)}`)),
  chunk(delta(inside => `"con\\u0074ent" : "${inside}" , "tool_calls":[]`)),
  chunk(delta(inside => `${content(inside)},"refusal":null,"reasoning_content":null`)),
  chunk(delta(inside => `${content(inside)},"reasoning_content":"because"`)),
  chunk(delta(inside => `"reasoning_content":"${inside}"`)),
  chunk(delta(inside => `"content":null,"reasoning_content":"${inside}"`)),
  chunk(delta(inside => `"reasoning":"${inside}"`)),
  chunk(delta(inside => `"refusal":"${inside}"`)),
  chunk(delta(inside => `"content":[{"type":"text","text":"${inside}"}]`)),
  chunk(delta(inside => `"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"${inside}"}}]`)),
  chunk(delta(inside => `"tool_calls":[{"index":0,"function":{"arguments":"${inside}"}}]`)),
  chunk(delta(inside => `"function_call":{"name":"f","arguments":"${inside}"}`)),
  chunk(delta(() => '"content":null')),
  chunk(delta(() => '"role":"assistant","content":""')),
  chunk(delta(content, ',"finish_reason":""')),
  chunk(delta(content, ',"finish_reason":"stop"')),
  chunk(delta(content, ',"stop_reason":"END"')),
  chunk(delta(() => '', ',"finish_reason":"length"')),
  chunk(inside => `{"delta":{${content(inside)}}}`),
  chunk(inside => `{"index":1,"delta":{${content(inside)}},"finish_reason":null}`),
  chunk(inside => `{"index":0,"delta":{${content(inside)}}},{"index":1,"delta":{${content(inside)}}}`),
  chunk(() => '', { after: ',"usage":{"prompt_tokens":5,"completion_tokens":9}' }),
  inside => `{"error":{"message":"${inside}"}}`,
  () => '[DONE]',
]

const blockDelta =
  (members: (inside: string) => string, index = 0): Data =>
  inside =>
    `{"type":"content_block_delta","index":${index},"delta":{${members(inside)}}}`
const text = (inside: string) => `"type":"text_delta","text":"${inside}"`
const input = (inside: string) => `"type":"input_json_delta","partial_json":"${inside}"`
const start = (index: number, block: string): Data => {
  return inside =>
    `{"type":"content_block_start","index":${index},"content_block":{${block.replace('TEXT', () => inside)}}}`
}
const stop = (index: number): Data => {
  return () => `{"type":"content_block_stop","index":${index}}`
}

const MESSAGES: readonly Data[] = [
  blockDelta(text),
  blockDelta(text),
  blockDelta(text),
  blockDelta(text, 1),
  blockDelta(text, 2),
  blockDelta(inside => `"type":"thinking_delta","thinking":"${inside}"`),
  blockDelta(inside => `"type":"thinking_delta","thinking":"${inside}"`, 1),
  blockDelta(input),
  blockDelta(input, 1),
  blockDelta(input, 2),
  blockDelta(inside => `"type":"signature_delta","signature":"${inside}"`),
  blockDelta(inside => `"text":null,"partial_json":"${inside}"`),
  blockDelta(inside => `"text":"${inside}","thinking":"both"`),
  blockDelta(inside => `"text":"first" , "text" : "${inside}"`),
  inside => `{"index":0,"delta":{${text(inside)}}}`,
  inside => ` {"delta" : {${text(inside)}}, "extra":{"text":"y"}, "type":"content_block_delta","index":0}`,
  inside => `{"type":"content_block_delta","index":"0","delta":{${text(inside)}}}`,
  start(0, '"type":"text","text":"TEXT"'),
  start(1, '"type":"text","text":""'),
  start(0, '"type":"thinking","thinking":"TEXT"'),
  start(1, '"type":"thinking","thinking":""'),
  start(1, '"type":"tool_use","id":"t","name":"f","input":{}'),
  start(2, '"type":"tool_use","id":"u","name":"g","input":{"a":"TEXT"}'),
  start(2, '"type":"server_tool_use","id":"v"'),
  stop(0),
  stop(1),
  stop(2),
  () => '{"type":"ping"}',
  () => '{"type":"message_start","message":{"id":"x","usage":{"input_tokens":5,"output_tokens":1}}}',
  () => '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}',
  () => '{"type":"message_delta","delta":{},"usage":{"output_tokens":2}}',
  inside => `{"type":"error","error":{"message":"${inside}"}}`,
  () => '{"type":"message_stop"}',
]

/** Ends of streams are as likely as anything else, and behind them nothing is looked at. */
const LAST = 3

const BEGINNINGS: Record<ProtocolName, readonly string[]> = {
  chat: [chunk(delta(() => '"role":"assistant","content":""'))('')],
  messages: [
    '{"type":"message_start","message":{"id":"x","usage":{"input_tokens":5,"output_tokens":1}}}',
    '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
  ],
}

/** A stream whose frames come in runs that differ in their texts, each run of another shape. */
export function someRuns(random: Random, protocol: ProtocolName): string {
  const shapes = protocol === 'chat' ? CHAT : MESSAGES
  const beginning = random.chance(0.8) ? BEGINNINGS[protocol].map(data => frame(random, protocol, data)) : []
  const runs = Array.from({ length: random.between(1, 8) }, () => {
    const place = random.between(0, shapes.length - (random.chance(0.1) ? 1 : LAST))
    const shape = shapes[place] as Data
    const name = nameOf(random, protocol)
    return Array.from({ length: random.between(1, 5) }, () => wrap(name, shape(someInside(random))))
  })
  const end = protocol === 'chat' ? '[DONE]' : '{"type":"message_stop"}'
  return [...beginning, ...runs.flat(), ...(random.chance(0.7) ? [frame(random, protocol, end)] : [])].join('')
}

const someInside = (random: Random): string =>
  random.chance(0.02)
    ? random.pick(BROKEN)
    : Array.from({ length: random.between(1, 3) }, () => random.pick(INSIDES)).join('')

const nameOf = (random: Random, protocol: ProtocolName): string => {
  const usual = protocol === 'chat' ? '' : 'event: content_block_delta\n'
  return random.weighted({ usual: 9, none: 1, comment: 1 }) === 'usual'
    ? usual
    : random.pick(['', ': a word\n', 'event:content_block_delta\n', 'id: 7\n'])
}

const wrap = (name: string, data: string): string => `${name}data: ${data}\n\n`

const frame = (random: Random, protocol: ProtocolName, data: string): string =>
  wrap(protocol === 'chat' || random.chance(0.2) ? '' : `event: ${JSON.parse(data).type}\n`, data)
