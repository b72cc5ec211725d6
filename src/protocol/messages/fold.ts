import { isObject, type JsonObject } from '../../core/ask.ts'
import { asText } from '../fields.ts'
import type { StreamFolder } from '../protocol.ts'
import { stringify } from '../raw-json.ts'
import type { Frame } from '../sse.ts'
import { parseEvent, part } from './event.ts'
import { cutToolInput, toolInput } from './tool-input.ts'

type Members = Record<string, unknown>

/** Of a delta's members, those whose fragments are one text of the block. */
const TEXTS = ['text', 'thinking'] as const

class FoldedBlock {
  private readonly block: Members
  private input = ''

  constructor(start: JsonObject) {
    this.block = { ...start }
  }

  add(delta: JsonObject): void {
    for (const field of TEXTS) {
      const added = asText(delta[field])
      if (added !== undefined) this.block[field] = (asText(this.block[field]) ?? '') + added
    }
    this.input += asText(delta.partial_json) ?? ''
    if (delta.signature !== undefined) this.block.signature = delta.signature
    if (delta.citation !== undefined) this.cite(delta.citation)
  }

  whole(isCut: boolean): JsonObject {
    if (this.input === '') return this.block
    return { ...this.block, input: isCut ? cutToolInput(this.input) : toolInput(this.input) }
  }

  private cite(citation: unknown): void {
    if (Array.isArray(this.block.citations)) this.block.citations.push(citation)
    else this.block.citations = [citation]
  }
}

class MessagesFolder implements StreamFolder {
  private message: JsonObject = {}
  private readonly blocks = new Map<unknown, FoldedBlock>()

  push(frame: Frame): void {
    const event = parseEvent(frame)
    if (!event) return
    const { type, payload } = event
    switch (type) {
      case 'message_start':
        this.message = part(payload, 'message')
        break
      case 'content_block_start':
        this.blocks.set(payload.index, new FoldedBlock(part(payload, 'content_block')))
        break
      case 'content_block_delta':
        this.blocks.get(payload.index)?.add(part(payload, 'delta'))
        break
      case 'message_delta':
        this.end(payload)
        break
    }
  }

  render(): string {
    const isCut = this.message.stop_reason === 'max_tokens'
    return stringify({ ...this.message, content: [...this.blocks.values()].map(block => block.whole(isCut)) })
  }

  /** Why it ended, what it came to, and what else a vendor says of the whole. */
  private end({ type: _, delta, usage, ...more }: JsonObject): void {
    const counted = { ...part(this.message, 'usage'), ...(isObject(usage) ? usage : {}) }
    this.message = { ...this.message, ...(isObject(delta) ? delta : {}), ...more, usage: counted }
  }
}

export const foldStream = (): StreamFolder => new MessagesFolder()
