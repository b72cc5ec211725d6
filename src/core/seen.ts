import type { TextSize } from './ask.ts'
import type { FinishReason, TurnEvent } from './turn.ts'
import type { Usage } from './usage.ts'

const sizeOf = (piece: string): TextSize => ({ characters: piece.length, bytes: Buffer.byteLength(piece) })

/** What was seen of an answer so far: enough to bill it wherever it stops. */
export class Seen {
  /** The upstream's own counters, the latest it gave. Until `reported`, they may lag behind what was relayed. */
  usage: Usage | undefined
  reported = false
  /** How much had come when the upstream counted last. */
  private countedPieces: number | undefined
  reason: FinishReason | undefined
  /** Length of all text, reasoning and arguments, in UTF-16 units and in UTF-8 bytes: the measure of the estimate. */
  characters = 0
  bytes = 0
  /** In how many pieces it came: vendors send a token at a time, or a few. */
  pieces = 0
  /** The part of all this that is reasoning: the limit that a vendor is told says nothing about it. */
  readonly thought = { characters: 0, bytes: 0, pieces: 0 }

  text(piece: string): void {
    if (piece !== '') this.add(sizeOf(piece))
  }

  thinking(piece: string): void {
    if (piece !== '') this.addThought(sizeOf(piece))
  }

  /** A piece of text of this size, which is not nothing. */
  add({ characters, bytes }: TextSize): void {
    this.pieces++
    this.characters += characters
    this.bytes += bytes
  }

  addThought(size: TextSize): void {
    this.add(size)
    this.thought.pieces++
    this.thought.characters += size.characters
    this.thought.bytes += size.bytes
  }

  event(event: TurnEvent): void {
    if (event.type === 'delta') this.text(event.text)
    if (event.type === 'start') this.usage = event.usage
    if (event.type !== 'finish') return
    this.reason = event.reason
    if (event.usage) this.count(event.usage, true)
  }

  /** Counters are cumulative in both dialects: overwritten, never added. With the answer's end they are the last word. */
  count(usage: Usage, isComplete: boolean): void {
    this.usage = usage
    this.countedPieces = this.pieces
    this.reported ||= isComplete
  }

  /** The upstream has ended as it should: what it counted last is what it counted, unless more has come since. */
  conclude(): void {
    this.reported ||= this.countedPieces === this.pieces
  }
}

/** A whole answer: what the upstream has written is billed, whatever of it is shown; how it ended is what is shown. */
export function seenIn(written: readonly TurnEvent[], shown: readonly TurnEvent[]): Seen {
  const seen = new Seen()
  for (const event of written) if (event.type === 'delta') seen.text(event.text)
  for (const event of shown) if (event.type !== 'delta') seen.event(event)
  return seen
}
