import { isObject } from '../core/ask.ts'
import type { Finish, TurnEvent } from '../core/turn.ts'
import { JsonProgress } from './json.ts'

/**
 * JSON mode for an upstream that has none: a tool that takes the answer as its input (`EncodedRequest.outputTool`).
 * This gives such an answer its real shape, a text block that holds the JSON and nothing else. Text around the call is
 * dropped; a model that wrote its JSON as text after all is taken at its word.
 */
export class JsonUnwrapper {
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
      case 'finish':
        return [...this.writtenAsText(event), this.ending(event)]
    }
  }

  private kindOf(block: Extract<TurnEvent, { type: 'open' }>['block']): typeof this.block {
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

  private writtenAsText({ reason }: Finish): TurnEvent[] {
    if (this.hasOutput || this.text === '') return []
    const isDocument = !this.hasCalls && reason !== 'length'
    const text = isDocument ? extractJson(this.text) : this.text
    return [{ type: 'open', block: { type: 'text' } }, { type: 'delta', text }, { type: 'close' }]
  }

  private ending(finish: Finish): Finish {
    return finish.reason === 'tool-calls' && !this.hasCalls ? { ...finish, reason: 'stop' } : finish
  }
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
