/** A text, or the call of a tool. */
export type Move = string | { readonly id: string; readonly tool: string; readonly input: unknown }

/** How a vendor of either protocol streams one move. Texts and arguments come in two pieces, as they may in life. */

export function chatFrames(move: Move): string[] {
  const deltas =
    typeof move === 'string'
      ? halves(move).map(content => ({ content }))
      : [
          { tool_calls: [{ index: 0, id: move.id, type: 'function', function: { name: move.tool, arguments: '' } }] },
          ...halves(JSON.stringify(move.input)).map(part => ({
            tool_calls: [{ index: 0, function: { arguments: part } }],
          })),
        ]
  const finish = typeof move === 'string' ? 'stop' : 'tool_calls'
  return [
    ...[{ role: 'assistant', content: '' }, ...deltas].map(delta => chunk([{ index: 0, delta, finish_reason: null }])),
    chunk([{ index: 0, delta: {}, finish_reason: finish }]),
    chunk([], { usage: { prompt_tokens: 70, completion_tokens: 5, total_tokens: 75 } }),
    'data: [DONE]\n\n',
  ]
}

const chunk = (choices: readonly object[], more: object = {}): string =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-vendor',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'swift',
    choices,
    ...more,
  })}\n\n`

export function messagesFrames(move: Move): string[] {
  const [block, deltas, reason] =
    typeof move === 'string'
      ? [{ type: 'text', text: '' }, halves(move).map(text => ({ type: 'text_delta', text })), 'end_turn']
      : [
          { type: 'tool_use', id: move.id, name: move.tool, input: {} },
          halves(JSON.stringify(move.input)).map(partial_json => ({ type: 'input_json_delta', partial_json })),
          'tool_use',
        ]
  const message = {
    id: 'msg_vendor',
    type: 'message',
    role: 'assistant',
    model: 'swift',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 70, output_tokens: 1 },
  }
  return [
    event('message_start', { message }),
    event('content_block_start', { index: 0, content_block: block }),
    ...deltas.map(delta => event('content_block_delta', { index: 0, delta })),
    event('content_block_stop', { index: 0 }),
    event('message_delta', { delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 5 } }),
    event('message_stop'),
  ]
}

const event = (type: string, more: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`

function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}
