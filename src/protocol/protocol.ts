import type { Ask, JsonObject, ProtocolName } from '../core/ask.ts'
import type { Capabilities } from '../core/capabilities.ts'
import type { ErrorContext, Failure } from '../core/failure.ts'
import type { Seen } from '../core/seen.ts'
import type { Source } from '../core/source.ts'
import type { Turn, TurnEvent } from '../core/turn.ts'
import type { Usage } from '../core/usage.ts'
import type { Around, SoleText } from './alike.ts'
import type { Frame, SseReader } from './sse.ts'

/** How an answer presents itself to its caller, whoever produced it. */
export interface View {
  /** 32 hex digits: the bare id on messages, behind `chatcmpl-` on chat. */
  readonly id: string
  /** The catalog id that was asked for; an upstream's own name never leaks. */
  readonly model: string
  readonly createdSeconds: number
  readonly includeUsage: boolean
  /** How many answers there will be. */
  readonly choices: number
  readonly showThinking: boolean
  /** For `message_start`, which must name the input before the upstream has counted it. */
  readonly promptEstimate: number
  readonly textTools: ReadonlySet<string>
  readonly legacyCalls: boolean
  readonly wantsJson: boolean
}

/** What a call came to: known once it is settled, and shown in the last bytes of its answer. */
export interface Bill {
  readonly usage: Usage
  readonly cost: string
}

/** What the upstream of this call is like. */
export interface Target {
  /** The name this upstream knows the model by. */
  readonly model: string
  /** The limit to ask for: the caller's, lowered to what is held. */
  readonly maxTokens: number | undefined
  readonly maxOutputTokens: number
  readonly reasoning: boolean
  readonly capabilities: Capabilities
  /** Fields that must not reach this upstream, whatever the caller says. */
  readonly withheld: readonly string[]
}

export interface EncodedRequest {
  readonly body: string
  readonly dropped: readonly string[]
  /** Tools that the upstream knows by another name, by that name. */
  readonly renamed: ReadonlyMap<string, string>
  readonly emulation: Emulation | undefined
}

/** JSON output from an upstream that has none of its own: as the input of a tool, or cut out of what it writes. */
export type Emulation = { readonly type: 'tool'; readonly name: string } | { readonly type: 'text' }

/** A request for a like upstream: the caller's own text, with the named edits. */
export interface EditedRequest {
  readonly body: string
  /** The same as bytes, where it is long and most of it goes on as it came: whoever sends it needs no text then. */
  readonly pieces?: readonly Uint8Array[]
  readonly dropped: readonly string[]
}

/** A whole answer, understood but not yet written: the bill goes into it. */
export interface Answer {
  readonly seen: Seen
  render(bill: Bill): string
}

/** An answer under way. Frames go in, text for the caller comes out; what was seen can be billed at any point. */
export interface AnswerStream {
  readonly seen: Seen
  /** True after the upstream's own end mark; nothing behind it counts. */
  readonly done: boolean
  /** The upstream has said why it stopped: only its end mark may be missing. */
  readonly isComplete: boolean
  push(frame: Frame): string
  /**
   * What becomes of the next frame, if it differs from the last one in its text only; undefined leaves it there. Of those
   * behind it too, as long as no more than `charactersMax` characters have been seen.
   */
  pushAlike(source: SseReader, charactersMax?: number): string | undefined
  /** The upstream has closed: throws if it did so in the middle of an answer. */
  end(): string
  /** Ends the answer here, as if it had reached its limit: closes what is open. `close` follows. */
  shorten(): string
  /** The closing frames, which wait for the bill. */
  close(bill: Bill): string
}

export interface DecodeOptions {
  /** The reader can take calls that overlap; otherwise they are put one after the other. */
  readonly callsMayOverlap: boolean
}

export interface StreamDecoder {
  /** All that has come, even what waits for its turn: text, reasoning and arguments. */
  readonly seen: Seen
  readonly done: boolean
  readonly isComplete: boolean
  /** The latest counters the upstream gave; until the finish they may lag behind. */
  readonly usage: Usage | undefined
  /** They came with the reason of the end, or after it: they are the last word. */
  readonly isReported: boolean
  /** Set where all that the last frame did was to add this text to the open block. */
  readonly soleText: SoleText | undefined
  push(frame: Frame): readonly TurnEvent[]
  end(): readonly TurnEvent[]
  /** Ends the answer here, with all that has come, as one that has reached its limit. */
  cut(): readonly TurnEvent[]
}

export interface StreamEncoder {
  /** Everything but the finish, whose frames carry the bill. */
  push(event: TurnEvent): string
  /** Right after a delta: what it would write around the text of the next one, if that is all there is to it. */
  aroundDelta(): Around | undefined
  close(bill: Bill): string
}

/** Puts a stream together again, as clients do: what was written for a caller of streams, as a whole answer. */
export interface StreamFolder {
  push(frame: Frame): void
  /** The body, once the last frame was given. */
  render(): string
}

/** A dialect is code, a vendor is data. All functions are pure; the two implementations are twins. */
export interface Protocol {
  readonly name: ProtocolName
  /** Behind a channel's base address. */
  readonly path: string
  /** Sent during silence, once a stream has begun. */
  readonly keepalive: string

  /** Headers that an upstream of this dialect wants; a server on one's own machine may want no key. */
  upstreamHeaders(apiKey: string | undefined): Record<string, string>

  /** Headers of the caller that belong to the dialect itself, for an upstream of the same dialect. */
  forwardedHeaders(headers: Headers): Record<string, string>

  /** Checks the caller's fields, in the contract's order. */
  read(body: JsonObject, written: string | Source): Ask

  /** Whether a like upstream can be given the request as it is; where it cannot, even like dialects are translated. */
  canPassOn(ask: Ask, capabilities: Capabilities): boolean

  decodeRequest(ask: Ask): Turn
  encodeRequest(turn: Turn, target: Target): EncodedRequest
  editRequest(ask: Ask, target: Target): EditedRequest

  decodeBody(text: string): readonly TurnEvent[]
  encodeBody(events: readonly TurnEvent[], view: View): Answer
  editBody(text: string, view: View): Answer

  decodeStream(options: DecodeOptions): StreamDecoder
  encodeStream(view: View): StreamEncoder
  editStream(view: View): AnswerStream
  foldStream(): StreamFolder

  errorBody(failure: Failure, context: ErrorContext): string
  /** The same failure when the status is already sent. */
  errorFrames(failure: Failure, context: ErrorContext): string
}
