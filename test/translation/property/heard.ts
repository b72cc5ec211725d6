import type { JsonBody } from '../../support/duet.ts'

/** What a client has understood at the end of an answer. */
export interface Heard {
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly HeardCall[]
  /** `finish_reason` or `stop_reason`. */
  readonly finish: unknown
  readonly stopSequence: unknown
  readonly usage: JsonBody
}

export interface HeardCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

const dataLines = (stream: string): string[] =>
  stream.split('\n').flatMap(line => (line.startsWith('data: ') ? [line.slice(6)] : []))

export const framesIn = (stream: string): JsonBody[] =>
  dataLines(stream).flatMap(data => (data === '[DONE]' ? [] : [JSON.parse(data)]))

/** Adds up deltas as the official client does, reasoning included. */
export function hearChat(stream: string): Heard {
  const heard = { text: '', reasoning: '', calls: [] as JsonBody[], finish: undefined as unknown }
  let usage: JsonBody
  for (const chunk of framesIn(stream)) {
    usage = chunk.usage ?? usage
    const [choice] = chunk.choices
    if (!choice) continue
    heard.finish = choice.finish_reason ?? heard.finish
    heard.text += choice.delta.content ?? ''
    heard.reasoning += choice.delta.reasoning_content ?? choice.delta.reasoning ?? ''
    for (const { index, id, function: made } of choice.delta.tool_calls ?? []) {
      heard.calls[index] ??= { id, name: made.name, arguments: '' }
      heard.calls[index].arguments += made.arguments
    }
  }
  return { ...heard, stopSequence: undefined, usage }
}

/** The blocks of a messages stream, with the text of inputs as it came. */
export function blocksIn(stream: string): JsonBody[] {
  const blocks: JsonBody[] = []
  for (const { type, index, content_block, delta } of framesIn(stream)) {
    if (type === 'content_block_start') blocks[index] = { ...content_block, json: '' }
    if (type !== 'content_block_delta') continue
    const block = blocks[index]
    if (delta.type === 'text_delta') block.text += delta.text
    if (delta.type === 'thinking_delta') block.thinking += delta.thinking
    if (delta.type === 'input_json_delta') block.json += delta.partial_json
  }
  return blocks
}

export function hearMessages(stream: string): Heard {
  const blocks = blocksIn(stream)
  const end = framesIn(stream).findLast(({ type }) => type === 'message_delta')
  return {
    text: blocks.map(({ text }) => text ?? '').join(''),
    reasoning: blocks.map(({ thinking }) => thinking ?? '').join(''),
    calls: blocks.flatMap(({ type, id, name, json, input }) =>
      // A call without fragments has what stands in its start.
      type === 'tool_use' ? [{ id, name, arguments: json || JSON.stringify(input) }] : [],
    ),
    finish: end?.delta.stop_reason,
    stopSequence: end?.delta.stop_sequence,
    usage: end?.usage,
  }
}

/** A whole answer; `inputs` are the texts of the calls' inputs, which a parser would change. */
export function hearBody(body: string, inputs: readonly string[]): Heard {
  const parsed: JsonBody = JSON.parse(body)
  return parsed.choices ? hearChatBody(parsed) : hearMessagesBody(parsed, body, inputs)
}

function hearChatBody({ choices: [choice], usage }: JsonBody): Heard {
  const { content, reasoning_content, tool_calls } = choice.message
  return {
    text: content ?? '',
    reasoning: reasoning_content ?? '',
    calls: (tool_calls ?? []).map(({ id, function: made }: JsonBody) => ({ id, ...made })),
    finish: choice.finish_reason,
    stopSequence: undefined,
    usage,
  }
}

function hearMessagesBody(
  { content, stop_reason, stop_sequence, usage }: JsonBody,
  body: string,
  inputs: readonly string[],
): Heard {
  const used: JsonBody[] = content.filter(({ type }: JsonBody) => type === 'tool_use')
  let at = 0
  const calls = used.map(({ id, name, input }, place) => {
    const text = inputs[place] ?? ''
    const found = text.startsWith('{') ? body.indexOf(`"input":${text}`, at) : -1
    at = found === -1 ? at : found + 1
    return { id, name, arguments: found === -1 ? JSON.stringify(input) : text }
  })
  return {
    text: content.map(({ text }: JsonBody) => text ?? '').join(''),
    reasoning: content.map(({ thinking }: JsonBody) => thinking ?? '').join(''),
    calls,
    finish: stop_reason,
    stopSequence: stop_sequence,
    usage,
  }
}
