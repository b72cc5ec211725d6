import type { Answer, Ending, Usage } from '../answer.ts'
import type { Failure, Frame } from '../dialect.ts'

const STOP_REASONS: Record<Ending['reason'], string> = {
  end: 'end_turn',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  'stop-sequence': 'stop_sequence',
}

const ERROR_TYPES: { readonly [status: number]: string | undefined } = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

export function writeBody(answer: Answer): object {
  const { reasoning, text, calls, ending, usage } = answer
  const thinking = { type: 'thinking', thinking: reasoning?.tokens.join(''), signature: reasoning?.signature }
  const content = [
    ...(reasoning ? [thinking] : []),
    ...(text.length > 0 ? [{ type: 'text', text: text.join('') }] : []),
    ...calls.map(writeCall),
  ]
  return { ...writeHead(answer), content, ...writeEnding(ending), ...(usage && { usage: writeUsage(usage) }) }
}

export function* writeFrames(answer: Answer): Generator<Frame> {
  const { ending, usage } = answer
  const message = { ...writeHead(answer), content: [], stop_reason: null, stop_sequence: null }
  const startUsage = usage && { usage: writeUsage({ ...usage, output: 0, reasoning: 0 }) }

  yield frame('message_start', { message: { ...message, ...startUsage } })
  for (const [index, block] of streamedBlocks(answer).entries()) {
    yield frame('content_block_start', { index, content_block: block.start })
    if (index === 0) yield frame('ping', {})
    for (const delta of block.deltas) yield frame('content_block_delta', { index, delta })
    if (block.seal) yield { ...frame('content_block_delta', { index, delta: block.seal }), kind: 'frame' }
    yield frame('content_block_stop', { index })
  }
  yield frame('message_delta', { delta: writeEnding(ending), ...(usage && { usage: writeOutputUsage(usage) }) })
  yield frame('message_stop', {})
}

export function writeError({ status, message, requestId }: Failure): object {
  const fallback = status < 500 ? 'invalid_request_error' : 'api_error'
  return { type: 'error', error: { type: ERROR_TYPES[status] ?? fallback, message }, request_id: requestId }
}

interface StreamedBlock {
  readonly start: object
  readonly deltas: readonly object[]
  /** A last delta that carries no token: the signature of a thought. */
  readonly seal?: object
}

function streamedBlocks({ reasoning, text, calls }: Answer): readonly StreamedBlock[] {
  const blocks: StreamedBlock[] = []
  if (reasoning) {
    blocks.push({
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: reasoning.tokens.map(thinking => ({ type: 'thinking_delta', thinking })),
      seal: { type: 'signature_delta', signature: reasoning.signature },
    })
  }
  if (text.length > 0) {
    blocks.push({
      start: { type: 'text', text: '' },
      deltas: text.map(token => ({ type: 'text_delta', text: token })),
    })
  }
  for (const { id, name, arguments: tokens } of calls) {
    blocks.push({
      start: { type: 'tool_use', id: `toolu_${id}`, name, input: {} },
      deltas: tokens.map(partial_json => ({ type: 'input_json_delta', partial_json })),
    })
  }
  return blocks
}

function writeHead({ id, model }: Answer): object {
  return { id: `msg_${id}`, type: 'message', role: 'assistant', model }
}

function writeEnding(ending: Ending): object {
  const stop_sequence = ending.reason === 'stop-sequence' ? ending.sequence : null
  return { stop_reason: STOP_REASONS[ending.reason], stop_sequence }
}

function writeCall(call: Answer['calls'][number]): object {
  return { type: 'tool_use', id: `toolu_${call.id}`, name: call.name, input: parsedInput(call.arguments.join('')) }
}

/** Arguments that a cap cut in the middle cannot be an object any more. */
function parsedInput(json: string): object {
  try {
    return JSON.parse(json)
  } catch {
    return {}
  }
}

function writeUsage(usage: Usage): object {
  const cache = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
  return { input_tokens: usage.input, ...cache, ...writeOutputUsage(usage) }
}

function writeOutputUsage({ output, reasoning }: Usage): object {
  return { output_tokens: output, ...(reasoning > 0 && { output_tokens_details: { thinking_tokens: reasoning } }) }
}

const FRAME_KINDS: { readonly [event: string]: Frame['kind'] | undefined } = {
  content_block_delta: 'delta',
  message_delta: 'close',
}

function frame(event: string, data: object): Frame {
  const text = `event: ${event}\ndata: ${JSON.stringify({ type: event, ...data })}\n\n`
  return { kind: FRAME_KINDS[event] ?? 'frame', text }
}
