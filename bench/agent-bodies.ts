import type { ProtocolName } from '../src/core/ask.ts'

/**
 * Requests as coding agents send them: a system prompt, tools with schemas, and turns of calls and results with code in
 * them. What grows with the size is the conversation, as it does in real life.
 */

const TOOLS = 20

const PARAGRAPH =
  'You are a careful assistant for software engineering. Keep answers short – no more than four lines – unless "detail" ' +
  'is asked for.\n\n# Rules\n- Never guess URLs.\n- Follow the conventions of the code around you → names, types, idioms.\n'

const ENGLISH = PARAGRAPH.replaceAll('–', '-').replaceAll('→', ':')

const CODE = `export async function readLines(path: string, { limit = 2000 }: Options = {}): Promise<string[]> {
\tconst text = await readFile(path, "utf-8");
\tif (text.includes("\\r\\n")) throw new Error(\`\${path} has "foreign" line ends\`);
\treturn text.split("\\n").slice(0, limit).map((line, index) => \`\${index + 1}\\t\${line}\`);
}
`

export interface BodyShape {
  readonly protocol: ProtocolName
  readonly model: string
  /** About this many. */
  readonly bytes: number
  /** Without it, every character is one byte. */
  readonly isForeign: boolean
  readonly stream?: boolean
  /** So many turns later in the same conversation. */
  readonly later?: number
}

/** The bytes of a request body; small ones have no tools, as a chat has none. */
export function agentBody(shape: BodyShape): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(shape.bytes < 4_000 ? chatter(shape) : session(shape)))
}

function chatter({ protocol, model, bytes, isForeign, stream = false }: BodyShape): unknown {
  const system = isForeign ? PARAGRAPH : ENGLISH
  const question = 'How would you make this "readLines" function faster?\n'.repeat(Math.ceil((bytes - 550) / 53))
  const asked = [
    { role: 'user', content: 'Hello there, can you help me with some code?' },
    { role: 'assistant', content: 'Of course. What do you have?' },
    { role: 'user', content: question },
  ]
  if (protocol === 'messages') return { model, max_tokens: 1024, system, messages: asked, stream }
  return {
    model,
    messages: [{ role: 'system', content: system }, ...asked],
    max_tokens: 1024,
    temperature: 0.7,
    stream,
  }
}

function session({ protocol, model, bytes, isForeign, stream = false, later = 0 }: BodyShape): unknown {
  const paragraph = isForeign ? PARAGRAPH : ENGLISH
  const system = paragraph.repeat(Math.ceil(Math.min(bytes / 8, 12_000) / paragraph.length))
  const write = protocol === 'chat' ? chatTurn : messagesTurn
  const first = { role: 'user', content: 'Make the reader of files faster, and test it.' }
  const messages: unknown[] = [first]
  const tools = Array.from({ length: TOOLS }, (_, place) => tool(protocol, place))
  const whole =
    protocol === 'chat'
      ? { model, messages: [{ role: 'system', content: system }], tools, tool_choice: 'auto', stream, max_tokens: 8192 }
      : { model, messages, system: [{ type: 'text', text: system }], tools, max_tokens: 8192, stream }
  const conversation = whole.messages as unknown[]
  if (protocol === 'chat') conversation.push(first)
  let written = JSON.stringify(whole).length
  let more = later
  for (let turn = 0; written < bytes || more-- > 0; turn++) {
    const said = write(turn, isForeign)
    written += JSON.stringify(said).length
    conversation.push(...said)
  }
  return whole
}

const idOf = (turn: number): string => `toolu_01${turn.toString(36).padStart(20, 'A')}`

function inputOf(turn: number): Record<string, unknown> {
  const file_path = `/home/user/project/src/readers/part-${turn}.ts`
  return turn % 3 === 0
    ? { file_path, old_string: CODE, new_string: CODE.replace('2000', '500') }
    : { file_path, offset: turn }
}

const resultOf = (turn: number, isForeign: boolean): string =>
  `${CODE.repeat(3)}${isForeign ? '✓ 12 tests passed — 0 failed' : 'ok: 12 tests passed, 0 failed'} (${turn})`

const saidIn = (turn: number): string => `I will look at part ${turn} of the "readers" first, then change it.`

const chatTurn = (turn: number, isForeign: boolean): unknown[] => [
  {
    role: 'assistant',
    content: saidIn(turn),
    tool_calls: [
      { id: idOf(turn), type: 'function', function: { name: 'tool_1', arguments: JSON.stringify(inputOf(turn)) } },
    ],
  },
  { role: 'tool', tool_call_id: idOf(turn), content: resultOf(turn, isForeign) },
]

const messagesTurn = (turn: number, isForeign: boolean): unknown[] => [
  {
    role: 'assistant',
    content: [
      { type: 'text', text: saidIn(turn) },
      { type: 'tool_use', id: idOf(turn), name: 'tool_1', input: inputOf(turn) },
    ],
  },
  {
    role: 'user',
    content: [
      {
        type: 'tool_result',
        tool_use_id: idOf(turn),
        content: [{ type: 'text', text: resultOf(turn, isForeign) }],
      },
    ],
  },
]

function tool(protocol: ProtocolName, place: number): unknown {
  const name = `tool_${place}`
  const description = `Reads, searches or changes files ("part ${place}").\nUsage:\n- Paths must be absolute.\n- Results have line numbers.`
  const schema = {
    type: 'object',
    properties: {
      file_path: { type: 'string', description: 'The absolute path of the file' },
      offset: { type: 'integer', description: 'The first line that is wanted', minimum: 1 },
      edits: { type: 'array', items: { type: 'object', properties: { old_string: { type: 'string' } } } },
    },
    required: ['file_path'],
    additionalProperties: false,
  }
  return protocol === 'chat'
    ? { type: 'function', function: { name, description, parameters: schema } }
    : { name, description, input_schema: schema }
}
