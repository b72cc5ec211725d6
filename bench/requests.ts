export type Protocol = 'chat' | 'messages'

/** What callers send, and what the mock upstream makes of it. */
export interface Shape {
  /** What the caller speaks. The upstream always speaks chat, so the other one has to be translated. */
  readonly protocol: Protocol
  /** As the mock names it: `whole-1000`, `burst-300`, `paced-300-100`. */
  readonly behaviour: string
  /** About how long the request is. */
  readonly bytes: number
  /** No two requests are the same, from their first message on. */
  readonly isNew?: true
}

export interface Ask {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export const PATHS: Record<Protocol, string> = { chat: '/v1/chat/completions', messages: '/v1/messages' }

export const isStream = ({ behaviour }: Shape): boolean => !behaviour.startsWith('whole')

/** Sentences, and code with all that a JSON string has to escape. */
const WORDS = 'Please look at what this function does when the list is empty, and say what you would change. '
const CODE = 'export function total(items: Item[]): number {\n\tif (items.length === 0) return 0 // "none"\n}\n'
/** A conversation with an agent has many messages of about this length. */
const MESSAGE_BYTES = 2_000

/** The load generator writes another number each time. */
const NUMBER = '#000000000000# '

/** Turns of about the same length, the last of them as long as is left. */
export function bodyOf(shape: Shape, model: string): string {
  const { protocol, bytes } = shape
  const tools = bytes > MESSAGE_BYTES ? toolsOf(protocol) : {}
  const fields = { model, max_tokens: 200, ...(isStream(shape) ? { stream: true } : {}), ...tools }
  const write = (messages: readonly object[]) => JSON.stringify({ ...fields, messages })
  const messages: object[] = []
  for (;;) {
    const left = bytes - write([...messages, { role: 'user', content: '' }]).length
    if (left <= MESSAGE_BYTES) return write([...messages, { role: 'user', content: fill(WORDS, left) }])
    const number = shape.isNew && messages.length === 0 ? NUMBER : ''
    const content = number + fill(CODE, MESSAGE_BYTES)
    messages.push({ role: messages.length % 2 === 0 ? 'user' : 'assistant', content })
  }
}

const fill = (text: string, length: number): string =>
  text.repeat(Math.ceil(Math.max(0, length) / text.length)).slice(0, Math.max(0, length))

const TOOL_NAMES = ['read_file', 'write_file', 'list_folder', 'search', 'run_command', 'ask_the_user']

function toolsOf(protocol: Protocol): object {
  const schema = {
    type: 'object',
    properties: { path: { type: 'string', description: WORDS }, lines: { type: 'array', items: { type: 'integer' } } },
    required: ['path'],
  }
  return {
    tools: TOOL_NAMES.map(name =>
      protocol === 'chat'
        ? { type: 'function', function: { name, description: WORDS.repeat(4), parameters: schema } }
        : { name, description: WORDS.repeat(4), input_schema: schema },
    ),
  }
}
