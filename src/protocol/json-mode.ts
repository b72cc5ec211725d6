import type { Block, Finish, FinishReason, OutputFormat, TurnEvent } from '../core/turn.ts'
import { isJsonObject } from './json.ts'
import { beginsObject, JsonProgress } from './json-progress.ts'
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

/** The model was asked in words: what it writes is held until it is whole, for only then can it be known to parse. */
class JsonInText implements Unwrapper {
  private text = ''
  private hasCalls = false
  private isText = false

  push(event: TurnEvent): readonly TurnEvent[] {
    switch (event.type) {
      case 'open':
        this.isText = event.block.type === 'text'
        return event.block.type === 'tool-call' ? [...this.saidBeforeCall(), event] : this.isText ? [] : [event]
      case 'delta':
        if (this.isText) this.text += event.text
        return this.isText ? [] : [event]
      case 'close':
        return this.isText ? [] : [event]
      case 'finish':
        return [...this.document(event), event]
      default:
        return [event]
    }
  }

  /** An answer that goes on with a call is no document yet. */
  private saidBeforeCall(): TurnEvent[] {
    const said = this.text === '' ? [] : asBlock(this.text)
    this.text = ''
    this.hasCalls = true
    return said
  }

  private document({ reason }: Finish): TurnEvent[] {
    const text = documentOr(this.text, { reason, hasCalls: this.hasCalls })
    return text === '' ? [] : asBlock(text)
  }
}

/**
 * The text of an answer in JSON mode, from an upstream that has one. What begins as an object is passed on as it comes, up
 * to its end; what begins as anything else is held until it is whole, for only then can it be known to parse.
 */
export class JsonOnly {
  private readonly progress = new JsonProgress()
  private held = ''
  /** Undefined until anything but blanks has come. */
  private isObject: boolean | undefined

  accept(text: string): string {
    if (this.isObject) return this.progress.accept(text)
    this.held += text
    this.isObject ??= beginsObject(text)
    return this.isObject ? this.progress.accept(this.held.trimStart()) : ''
  }

  /** What is left to say at the end. */
  rest(ending: Ending): string {
    return this.isObject ? '' : documentOr(this.held, ending)
  }
}

interface Ending {
  readonly reason: FinishReason | undefined
  readonly hasCalls: boolean
}

const asBlock = (text: string): TurnEvent[] => [
  { type: 'open', block: { type: 'text' } },
  { type: 'delta', text },
  { type: 'close' },
]

/** An answer that is whole must be a document; one that goes on with a call, or was cut, is what it is. */
function documentOr(text: string, { reason, hasCalls }: Ending): string {
  return hasCalls || reason === 'length' ? text : extractJson(text)
}

/** Prose has few braces; a text with more of them than this is taken for what it is. */
const CANDIDATES_MAX = 20

/** The first JSON object in a text that may put fences or prose around it. */
function extractJson(text: string): string {
  let brace = text.indexOf('{')
  for (let tried = 0; brace !== -1 && tried < CANDIDATES_MAX; tried++) {
    const found = new JsonProgress().accept(text.slice(brace))
    if (isJsonObject(found)) return found
    brace = text.indexOf('{', brace + 1)
  }
  // The contract promises JSON even where the model gave none.
  return JSON.stringify({ answer: text })
}
