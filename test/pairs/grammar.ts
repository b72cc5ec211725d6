import type { JsonBody } from '../support/duet.ts'

/** What is wrong with a messages stream, by the rules A1 to A10; nothing when it is in order. */
export function faultsInMessages(stream: string): readonly string[] {
  const faults: string[] = []
  const check = (rule: string, holds: boolean) => holds || faults.push(rule)

  check('A1 the last frame ends with a blank line', stream.endsWith('\n\n'))
  const events = stream
    .split('\n\n')
    .filter(frame => frame !== '')
    .map(frame => {
      const [, name, data] = /^event: (\S+)\ndata: (\{.*\})$/.exec(frame) ?? []
      const event: JsonBody = parse(data)
      check(`A1 a frame is an event and one line of data: ${frame}`, event !== undefined && event.type === name)
      return event ?? {}
    })
  const types = events.map(({ type }) => type)
  const count = (type: string) => types.filter(each => each === type).length

  check('A2 message_start is first', types[0] === 'message_start')
  check('A2 there is one message_start', count('message_start') === 1)
  const message = events[0]?.message ?? {}
  check('A2 the message starts empty', Array.isArray(message.content) && message.content.length === 0)
  check('A2 the message starts with counts', areIntegers(message.usage?.input_tokens, message.usage?.output_tokens))

  let open: { type: string; index: number } | undefined
  let blocks = 0
  for (const { type, index, content_block, delta } of events) {
    switch (type) {
      case 'content_block_start':
        check(`A4 block ${index} starts after the one before has stopped`, open === undefined)
        check(`A3 block ${index} is number ${blocks}`, index === blocks)
        check(`A6 block ${index} starts empty`, isEmptyBlock(content_block))
        check(`A7 block ${index} starts before message_delta`, !passed(events, 'message_delta', content_block))
        open = { type: content_block?.type, index }
        blocks++
        break
      case 'content_block_delta':
        check(`A4 a delta belongs to the open block`, open !== undefined && open.index === index)
        check(`A5 ${delta?.type} fits the block`, (DELTAS[open?.type ?? ''] ?? []).includes(delta?.type))
        check(`A6 a ${delta?.type} says something`, deltaText(delta) !== '')
        break
      case 'content_block_stop':
        check('A4 a stop closes the open block', open !== undefined && open.index === index)
        open = undefined
        break
      case 'message_delta':
        check('A7 message_delta comes when every block has stopped', open === undefined)
        check('A7 message_delta says why', typeof delta?.stop_reason === 'string')
        break
    }
  }

  check(
    'A9 there are no other events',
    types.every(type => EVENTS.includes(type)),
  )
  check('A8 there is no [DONE]', !stream.includes('[DONE]'))
  if (types.includes('error')) {
    check('A10 nothing follows an error', types.indexOf('error') === types.length - 1)
    check('A10 an error is not an end', count('message_delta') === 0 && count('message_stop') === 0)
    check('A10 an error says something', typeof events.at(-1)?.error?.message === 'string')
    return faults
  }
  check('A4 every block has stopped', open === undefined)
  check('A7 there is one message_delta', count('message_delta') === 1)
  const end = events.find(({ type }) => type === 'message_delta')
  check('A7 message_delta counts the output', areIntegers(end?.usage?.output_tokens))
  check('A8 message_stop is last', types.at(-1) === 'message_stop' && count('message_stop') === 1)
  return faults
}

const EVENTS: readonly string[] = [
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'ping',
  'error',
]

const DELTAS: { readonly [block: string]: readonly string[] | undefined } = {
  text: ['text_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
}

function isEmptyBlock(block: JsonBody): boolean {
  switch (block?.type) {
    case 'text':
      return block.text === ''
    case 'thinking':
      return block.thinking === '' && block.signature === ''
    case 'tool_use':
      return isText(block.id) && isText(block.name) && JSON.stringify(block.input) === '{}'
    default:
      return false
  }
}

function deltaText(delta: JsonBody): unknown {
  return delta?.text ?? delta?.thinking ?? delta?.signature ?? delta?.partial_json ?? ''
}

function passed(events: readonly JsonBody[], type: string, block: JsonBody): boolean {
  const at = events.findIndex(event => event.content_block === block)
  const end = events.findIndex(event => event.type === type)
  return end !== -1 && end < at
}

/** What is wrong with a chat stream, by the rules O1 to O9; nothing when it is in order. */
export function faultsInChat(stream: string, { usageAsked }: { usageAsked: boolean }): readonly string[] {
  const faults: string[] = []
  const check = (rule: string, holds: boolean) => holds || faults.push(rule)

  check('O8 the last frame ends with a blank line', stream.endsWith('\n\n'))
  const data = stream
    .split('\n\n')
    .filter(frame => frame !== '')
    .flatMap(frame => {
      const lines = frame.split('\n').filter(line => !line.startsWith(':'))
      if (lines.length === 0) return []
      const [, text] = /^data: (.+)$/.exec(lines.join('\n')) ?? []
      check(`O8 a frame is one line of data: ${frame}`, text !== undefined)
      return text ?? []
    })
  check('O7 [DONE] is last, and only there', data.indexOf('[DONE]') === data.length - 1 && data.length > 0)

  const frames: JsonBody[] = data.slice(0, -1).map(text => parse(text) ?? {})
  const failure = frames.findIndex(frame => 'error' in frame)
  if (failure !== -1) {
    check('O5 nothing but [DONE] follows an error', failure === frames.length - 1)
    check('O5 an error says something', isText(frames[failure].error?.message))
  }
  const chunks = frames.filter(frame => !('error' in frame))

  const [first] = chunks
  for (const chunk of chunks) {
    const whole = isText(chunk.id) && isText(chunk.model) && areIntegers(chunk.created) && Array.isArray(chunk.choices)
    check('O1 a chunk is whole', whole && chunk.object === 'chat.completion.chunk')
    const same = chunk.id === first.id && chunk.created === first.created && chunk.model === first.model
    check('O1 all chunks have one head', same)
  }

  const spoken = chunks.filter(({ choices }) => choices?.length !== 0)
  const tools: { id: unknown }[] = []
  for (const [place, chunk] of spoken.entries()) {
    const [choice] = chunk.choices
    const { delta = {}, finish_reason } = choice
    check('O2 there is one choice, number 0', chunk.choices.length === 1 && choice.index === 0)
    check('O2 a choice has a delta', typeof choice.delta === 'object' && choice.delta !== null)
    check('O2 a choice has a finish_reason', finish_reason === null || isText(finish_reason))
    check('O3 the role is in the first chunk', place === 0 ? delta.role === 'assistant' : !('role' in delta))
    const isContent = typeof delta.content === 'string' || !('content' in delta) || (place === 0 && !delta.content)
    check('O9 content is a text', isContent)

    for (const call of delta.tool_calls ?? []) {
      const { index, id, type, function: called } = call
      if (index === tools.length) {
        check('O4 a call starts whole', isText(id) && type === 'function' && isText(called?.name))
        tools.push({ id })
      } else {
        check('O4 calls are numbered from 0 without gaps', index >= 0 && index < tools.length)
        check('O4 a call goes on with arguments only', sameKeys(call, 'index function'))
        check('O4 a call goes on with arguments only', sameKeys(called ?? {}, 'arguments'))
      }
      check('O4 arguments are a text', typeof called?.arguments === 'string')
    }
    if (finish_reason !== null) {
      check('O5 the finish has an empty delta', Object.keys(delta).length === 0)
      check('O5 the finish is the last that is said', place === spoken.length - 1)
    }
  }
  const finishes = spoken.filter(({ choices }) => choices[0].finish_reason !== null).length
  check('O5 there is one finish, or an error', finishes === (failure === -1 ? 1 : 0))

  const silent = chunks.filter(({ choices }) => choices?.length === 0)
  check('O6 the usage frame is there when asked for', silent.length === (usageAsked && failure === -1 ? 1 : 0))
  check('O6 the usage frame is last', silent.length === 0 || chunks.at(-1) === silent[0])
  for (const { usage } of silent) {
    check('O6 usage is counted', areIntegers(usage?.prompt_tokens, usage?.completion_tokens, usage?.total_tokens))
  }
  const others = spoken.map(({ usage }) => usage)
  check(
    'O6 the other chunks have no usage',
    others.every(usage => (usageAsked ? usage === null : usage == null)),
  )
  return faults
}

function sameKeys(value: object, keys: string): boolean {
  return Object.keys(value).toSorted().join(' ') === keys.split(' ').toSorted().join(' ')
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function areIntegers(...values: readonly unknown[]): boolean {
  return values.every(Number.isInteger)
}

function parse(text: string | undefined): JsonBody {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}
