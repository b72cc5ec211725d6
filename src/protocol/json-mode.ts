import type { FinishReason, TurnEvent } from '../core/turn.ts'
import { isObject } from './fields.ts'
import { JsonProgress } from './json.ts'
import type { JsonEmulation } from './protocol.ts'

/** Gives an emulated JSON answer its real shape: a text block that holds the JSON and nothing else. */
export class JsonUnwrapper {
  private readonly emulation: JsonEmulation
  private inOutput = false
  private otherCalls = false
  private text = ''

  constructor(emulation: JsonEmulation) {
    this.emulation = emulation
  }

  push(event: TurnEvent): readonly TurnEvent[] {
    return this.emulation.by === 'tool' ? [this.fromTool(event, this.emulation.tool)] : this.fromText(event)
  }

  private fromTool(event: TurnEvent, tool: string): TurnEvent {
    if (event.type === 'open' && event.block.type === 'tool-call') {
      if (event.block.name === tool) return { type: 'open', block: { type: 'text' } }
      this.otherCalls = true
    }
    if (event.type !== 'finish' || event.reason !== 'tool-calls' || this.otherCalls) return event
    return { ...event, reason: 'stop' }
  }

  /** The text is kept back until it is whole: what stands around the JSON can only be told then. */
  private fromText(event: TurnEvent): readonly TurnEvent[] {
    if (event.type === 'open') this.inOutput = event.block.type === 'text'
    if (event.type === 'finish') return [...this.written(event.reason), event]
    if (!this.inOutput || event.type === 'start') return [event]
    if (event.type === 'delta') this.text += event.text
    return []
  }

  private written(reason: FinishReason): TurnEvent[] {
    if (this.text === '') return []
    const text = reason === 'length' ? this.text : extractJson(this.text)
    return [{ type: 'open', block: { type: 'text' } }, { type: 'delta', text }, { type: 'close' }]
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
