import {
  type Answer,
  type AnswerReader,
  count,
  type Fault,
  faultOf,
  isObject,
  type Json,
  list,
  NOTHING_SAID,
  object,
  parse,
  type ToolCall,
  text,
  textOrNull,
} from './answer.ts'

/** A block as it stands by now; a call's input grows as text. */
type Block = Json & { readonly written?: string }

export class MessagesReader implements AnswerReader {
  private blocks: readonly Block[] = []
  private ending: string | null = null
  private usage: Json = {}
  private error: Fault | null = null

  frame(data: string): void {
    const event = object(parse(data))
    switch (event.type) {
      case 'message_start':
        this.addUsage(object(event.message).usage)
        break
      case 'content_block_start':
        this.setBlock(event.index, object(event.content_block))
        break
      case 'content_block_delta':
        this.setBlock(event.index, grown(this.blocks[count(event.index)] ?? {}, object(event.delta)))
        break
      case 'message_delta':
        this.ending = textOrNull(object(event.delta).stop_reason) ?? this.ending
        this.addUsage(event.usage)
        break
      case 'error':
        this.error = faultOf(object(event.error), 0)
        break
    }
  }

  body(data: Json): void {
    if (isObject(data.error)) this.error = faultOf(data.error, 0)
    this.blocks = list(data.content).map(object)
    this.ending = textOrNull(data.stop_reason)
    this.addUsage(data.usage)
  }

  get answer(): Answer {
    const { blocks, ending, usage, error } = this
    return {
      ...NOTHING_SAID,
      text: blocks.map(block => (block.type === 'text' ? text(block.text) : '')).join(''),
      reasoning: blocks.map(block => (block.type === 'thinking' ? text(block.thinking) : '')).join(''),
      calls: blocks.filter(({ type }) => type === 'tool_use').map(callOf),
      thoughts: blocks.filter(({ type }) => type === 'thinking' || type === 'redacted_thinking'),
      ending,
      error,
      ...usageOf(usage),
    }
  }

  private setBlock(index: unknown, block: Block): void {
    const blocks = [...this.blocks]
    blocks[count(index)] = block
    this.blocks = blocks
  }

  /** The last word on each number holds. */
  private addUsage(usage: unknown): void {
    this.usage = { ...this.usage, ...object(usage) }
  }
}

function grown(block: Block, delta: Json): Block {
  switch (delta.type) {
    case 'text_delta':
      return { ...block, text: text(block.text) + text(delta.text) }
    case 'thinking_delta':
      return { ...block, thinking: text(block.thinking) + text(delta.thinking) }
    case 'signature_delta':
      return { ...block, signature: text(block.signature) + text(delta.signature) }
    case 'input_json_delta':
      return { ...block, written: (block.written ?? '') + text(delta.partial_json) }
    default:
      return block
  }
}

function callOf(block: Block): ToolCall {
  return { id: text(block.id), name: text(block.name), input: block.written || JSON.stringify(block.input ?? {}) }
}

/** An answer that broke off has not said what it cost. */
function usageOf(usage: Json): Pick<Answer, 'tokens' | 'cost'> {
  const cost = textOrNull(usage.cost)
  if (cost === null) return { tokens: null, cost }
  const details = object(usage.output_tokens_details)
  return {
    tokens: {
      input: count(usage.input_tokens),
      cache_read: count(usage.cache_read_input_tokens),
      cache_write: count(usage.cache_creation_input_tokens),
      output: count(usage.output_tokens),
      reasoning: count(details.thinking_tokens),
    },
    cost,
  }
}
