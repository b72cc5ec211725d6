import type { Answer, Ending, Usage } from '../answer.ts'
import type { Failure, Frame } from '../dialect.ts'
import type { Prompt } from '../prompt.ts'

/** A clock would make the same request give two answers. */
const CREATED = 1_767_225_600

const FINISH_REASONS: Record<Ending['reason'], string> = {
  end: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'stop-sequence': 'stop',
}

const ERRORS: { readonly [status: number]: { readonly type: string; readonly code: string | null } | undefined } = {
  401: { type: 'invalid_request_error', code: 'invalid_api_key' },
  403: { type: 'request_forbidden', code: 'unsupported_country_region_territory' },
  404: { type: 'invalid_request_error', code: 'model_not_found' },
  429: { type: 'requests', code: 'rate_limit_exceeded' },
}

export function writeBody(answer: Answer): object {
  const { id, model, reasoning, text, calls, ending, usage } = answer
  const message = {
    role: 'assistant',
    content: calls.length > 0 ? null : text.join(''),
    refusal: null,
    ...(reasoning && { reasoning_content: reasoning.tokens.join('') }),
    ...(calls.length > 0 && { tool_calls: calls.map(writeCall) }),
  }
  return {
    id: `chatcmpl-${id}`,
    object: 'chat.completion',
    created: CREATED,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: FINISH_REASONS[ending.reason] }],
    ...(usage && { usage: writeUsage(usage) }),
  }
}

export function* writeFrames(answer: Answer, { streamUsage }: Prompt): Generator<Frame> {
  const { id, model, reasoning, text, calls, ending } = answer
  const usage = streamUsage ? answer.usage : undefined
  const head = { id: `chatcmpl-${id}`, object: 'chat.completion.chunk', created: CREATED, model }
  // Once usage is asked for, every other chunk says that it has none.
  const tail = usage && { usage: null }
  const chunk = (kind: Frame['kind'], delta: object, finish_reason: string | null = null): Frame =>
    frame(kind, { ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason }], ...tail })

  yield chunk('frame', { role: 'assistant', content: '' })
  for (const token of reasoning?.tokens ?? []) yield chunk('delta', { reasoning_content: token })
  for (const token of text) yield chunk('delta', { content: token })
  for (const [index, call] of calls.entries()) {
    const opening = { index, id: `call_${call.id}`, type: 'function', function: { name: call.name, arguments: '' } }
    yield chunk('frame', { tool_calls: [opening] })
    for (const token of call.arguments) {
      yield chunk('delta', { tool_calls: [{ index, function: { arguments: token } }] })
    }
  }
  yield chunk('close', {}, FINISH_REASONS[ending.reason])
  if (usage) yield frame('frame', { ...head, choices: [], usage: writeUsage(usage) })
  yield { kind: 'frame', text: 'data: [DONE]\n\n' }
}

export function writeError({ status, message }: Failure): object {
  const fallback = { type: status < 500 ? 'invalid_request_error' : 'server_error', code: null }
  const { type, code } = ERRORS[status] ?? fallback
  return { error: { message, type, param: null, code } }
}

function writeCall(call: Answer['calls'][number]): object {
  const called = { name: call.name, arguments: call.arguments.join('') }
  return { id: `call_${call.id}`, type: 'function', function: called }
}

function writeUsage({ input, output, reasoning }: Usage): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: 0 },
    ...(reasoning > 0 && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  }
}

function frame(kind: Frame['kind'], data: object): Frame {
  return { kind, text: `data: ${JSON.stringify(data)}\n\n` }
}
