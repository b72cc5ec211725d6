import { isObject } from '../core/ask.ts'
import type { Block, Finish, OutputFormat, TurnEvent } from '../core/turn.ts'
import { JsonProgress } from './json.ts'
import type { Emulation } from './protocol.ts'

/**
 * JSON output from upstreams that have none of their own. The request asks for it in other ways (`Emulation`); this
 * gives the answer its real shape, a text block that holds the JSON and nothing else.
 */

/** Asks in words, where nothing else is to be had. */
export function jsonSentence(output: OutputFormat): string {
  const sentence = 'Reply with one JSON object and nothing else.'
  return output.type === 'schema' ? `${sentence} It must match this JSON schema:\n${output.schema.text}` : sentence
}

interface Unwrapper {
  push(event: TurnEvent): readonly TurnEvent[]
}

export const unwrapperFor = (emulation: Emulation): Unwrapper =>
  emulation.type === 'tool' ? new OutputTool(emulation.name) : new JsonInText()

/**
 * A tool takes the answer as its input. Text around the call is dropped; a model that wrote its JSON as text after all
 * is taken at its word.
 */
class OutputTool implements Unwrapper {
  private readonly tool: string
  private text = ''
  private block: 'text' | 'output' | 'hidden' | 'other' = 'other'
  private hasOutput = false
  private hasCalls = false

  constructor(tool: string) {
    this.tool = tool
  }

  push(event: TurnEvent): readonly TurnEvent[] {
    switch (event.type) {
      case 'start':
        return [event]
      case 'open':
        this.block = this.kindOf(event.block)
        if (this.block === 'output') return [{ type: 'open', block: { type: 'text' } }]
        return this.block === 'other' ? [event] : []
      case 'delta':
        if (this.block === 'text') this.text += event.text
        return this.isShown() ? [event] : []
      case 'close':
        return this.isShown() ? [event] : []
      case 'finish': {
        const isWritten = !this.hasOutput && this.text !== ''
        const written = isWritten ? asBlock(documentOr(this.text, { ...event, hasCalls: this.hasCalls })) : []
        return [...written, this.ending(event)]
      }
    }
  }

  private kindOf(block: Block): typeof this.block {
    if (block.type === 'text') return 'text'
    if (block.type === 'thinking') return 'other'
    if (block.name !== this.tool) {
      this.hasCalls = true
      return 'other'
    }
    // Two documents would not be one: the first counts.
    if (this.hasOutput) return 'hidden'
    this.hasOutput = true
    return 'output'
  }

  private isShown(): boolean {
    return this.block === 'output' || this.block === 'other'
  }

  private ending(finish: Finish): Finish {
    return finish.reason === 'tool-calls' && !this.hasCalls ? { ...finish, reason: 'stop' } : finish
  }
}

/** The model was asked in words: what it puts before and behind the first object is dropped as it comes. */
class JsonInText implements Unwrapper {
  private readonly progress = new JsonProgress()
  private before = ''
  private isFound = false
  private isOpen = false
  private hasCalls = false
  private isText = false

  push(event: TurnEvent): readonly TurnEvent[] {
    switch (event.type) {
      case 'open':
        this.isText = event.block.type === 'text'
        this.hasCalls ||= event.block.type === 'tool-call'
        return this.isText ? [] : [event]
      case 'delta':
        return this.isText ? this.write(event.text) : [event]
      case 'close':
        return this.isText ? this.close() : [event]
      case 'finish':
        if (this.isFound || this.before === '') return [event]
        return [...asBlock(documentOr(this.before, { ...event, hasCalls: this.hasCalls })), event]
      default:
        return [event]
    }
  }

  private write(text: string): TurnEvent[] {
    const json = this.progress.accept(this.isFound ? text : this.fromBrace(text))
    if (json === '') return []
    const opening: TurnEvent[] = this.isOpen ? [] : [{ type: 'open', block: { type: 'text' } }]
    this.isOpen = true
    return [...opening, { type: 'delta', text: json }]
  }

  private fromBrace(text: string): string {
    const brace = text.indexOf('{')
    this.isFound = brace !== -1
    if (!this.isFound) this.before += text
    return this.isFound ? text.slice(brace) : ''
  }

  private close(): TurnEvent[] {
    const closing: TurnEvent[] = this.isOpen ? [{ type: 'close' }] : []
    this.isOpen = false
    return closing
  }
}

const asBlock = (text: string): TurnEvent[] => [
  { type: 'open', block: { type: 'text' } },
  { type: 'delta', text },
  { type: 'close' },
]

/** An answer that is whole must be a document; one that goes on with a call, or was cut, is what it is. */
function documentOr(text: string, { reason, hasCalls }: Pick<Finish, 'reason'> & { hasCalls: boolean }): string {
  return hasCalls || reason === 'length' ? text : extractJson(text)
}

/** The first JSON object in a text that may put fences or prose around it. */
function extractJson(text: string): string {
  const start = text.indexOf('{')
  const found = start === -1 ? '' : new JsonProgress().accept(text.slice(start))
  try {
    if (isObject(JSON.parse(found))) return found
  } catch {}
  // The contract promises JSON even where the model gave none.
  return JSON.stringify({ answer: text })
}
