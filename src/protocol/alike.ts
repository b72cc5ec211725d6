import type { TextSize } from '../core/ask.ts'
import type { Seen } from '../core/seen.ts'
import type { TurnEvent } from '../core/turn.ts'
import { endsInHalf } from './answer.ts'
import { members, type Path, root, type Span, spanAt } from './json.ts'
import { BACKSLASH, QUOTE, SPACE } from './json-codes.ts'
import type { Frame, SseReader } from './sse.ts'

/**
 * Nearly all frames of a stream differ from the one before them in their text only. Once such a frame has been read and
 * written with all care, those that follow it are copied: what stands before and after the text is known on both sides,
 * and a string of JSON is one in either dialect. See docs/decisions/0018-frames-alike.md.
 */

/** What stands before and after the inside of a string, quotes included, from the first byte of a frame to its last. */
export interface Around {
  readonly before: string
  readonly after: string
  /** Where letters that mean nothing follow: `after` ends with their first quote, and this begins with their last. */
  readonly end?: string | undefined
}

/** Members in which vendors send random letters, so that nobody can tell the text from the length of what is encrypted. */
const PADDING = ['obfuscation', 'p']

/** Where the text of a frame stands that says one text and nothing else. */
export interface SoleText {
  readonly path: Path
  readonly isThought: boolean
}

/** So many patterns in a row that served no frame: such a vendor's frames are never alike. */
const UNUSED_MAX = 16

export class Alike {
  private readonly seen: Seen
  private pattern: Pattern | undefined
  private unused = 0

  constructor(seen: Seen) {
    this.seen = seen
  }

  /**
   * A frame that is read with care may change anything: what is known holds only for frames right behind the one it was
   * learned from.
   */
  forget(): void {
    this.pattern = undefined
  }

  /** The frame was read with care, and left nothing behind that the next one of its kind would find different. */
  learn(frame: Frame, { path, isThought }: SoleText, writeAround: () => Around | undefined): void {
    if (this.unused === UNUSED_MAX) return
    const from = aroundIn(frame, path)
    const to = from && writeAround()
    if (!to || (from.end === undefined && to.end !== undefined)) return
    this.unused++
    this.pattern = new Pattern(from, to, isThought)
  }

  /**
   * What becomes of the next frame, if it is like the last one; undefined leaves it where it is. More of them may follow it
   * while no more than this many characters have been seen.
   */
  next(source: SseReader, charactersMax: number): string | undefined {
    const written = this.pattern?.copy(source, this.seen, charactersMax)
    if (written !== undefined) this.unused = 0
    return written
  }
}

/** Undefined for a frame that is spread over several lines, or has no string there. */
export function aroundIn({ event, data }: Frame, path: Path): Around | undefined {
  if (data.includes('\n')) return undefined
  const span = spanAt(data, root(data), path)
  if (!span || data.charCodeAt(span.start) !== QUOTE) return undefined
  const name = event === '' ? '' : `event: ${event}\n`
  const before = `${name}data: ${data.slice(0, span.start + 1)}`
  const padding = paddingIn(data, span.end)
  if (!padding) return { before, after: `${data.slice(span.end - 1)}\n\n` }
  return { before, after: data.slice(span.end - 1, padding.start + 1), end: `${data.slice(padding.end - 1)}\n\n` }
}

function paddingIn(data: string, from: number): Span | undefined {
  if (!PADDING.some(key => data.includes(`"${key}":"`, from))) return undefined
  const found = members(data, root(data)).findLast(({ key, start }) => PADDING.includes(key) && start >= from)
  return found && data.charCodeAt(found.start) === QUOTE ? found : undefined
}

/** The same of a frame that was written for a text of nothing, which is the last of its strings. */
export function aroundNothing(frame: string): Around | undefined {
  const place = frame.lastIndexOf('""')
  return place === -1 ? undefined : { before: frame.slice(0, place + 1), after: frame.slice(place + 1) }
}

/** A frame around a text, on both sides. */
class Pattern {
  private readonly from: Around
  private readonly to: Around
  private readonly isThought: boolean
  private readonly isKept: boolean
  /** What is written between two texts. */
  private readonly between: string
  private readonly size = { characters: 0, bytes: 0 } satisfies TextSize
  /** Where the text of the frame that was found last stands, and the letters that mean nothing. */
  private textStart = 0
  private textEnd = 0
  private paddingStart = 0
  private paddingEnd = 0

  constructor(from: Around, to: Around, isThought: boolean) {
    this.from = from
    this.to = to
    this.isThought = isThought
    this.isKept = from.before === to.before && from.after === to.after && from.end === to.end
    this.between = to.after + to.before
  }

  copy(source: SseReader, seen: Seen, charactersMax: number): string | undefined {
    const { text, at: begun } = source
    let at = begun
    let written = ''
    do {
      const end = this.find(text, at)
      if (end === -1) break
      if (this.isThought) seen.addThought(this.size)
      else seen.add(this.size)
      if (!this.isKept) written = this.extended(written, text)
      at = end
    } while (seen.characters <= charactersMax)
    if (at === begun) return undefined
    source.skipTo(at)
    if (this.isKept) return text.slice(begun, at)
    return this.to.end === undefined ? written + this.to.after : written
  }

  /** Frame by frame, with as few strings as can be: each one is an object until all of them are put together. */
  private extended(written: string, text: string): string {
    const { before, after, end } = this.to
    const inside = text.slice(this.textStart, this.textEnd)
    if (end === undefined) return written === '' ? before + inside : `${written}${this.between}${inside}`
    return `${written}${before}${inside}${after}${text.slice(this.paddingStart, this.paddingEnd)}${end}`
  }

  /** Where the frame ends that begins here, if it is like the last one; -1 if it is not. */
  private find(text: string, at: number): number {
    const { before, after, end } = this.from
    if (!text.startsWith(before, at)) return -1
    const start = at + before.length
    const close = this.measure(text, start)
    // An empty text is no text: there may be more to it.
    if (close <= start || !text.startsWith(after, close)) return -1
    const padding = close + after.length
    const paddingEnd = this.endOfPadding(text, padding)
    if (paddingEnd === -1) return -1
    this.textStart = start
    this.textEnd = close
    this.paddingStart = padding
    this.paddingEnd = paddingEnd
    return end === undefined ? paddingEnd : paddingEnd + end.length
  }

  /** Where the frame goes on as it should; -1 if it does not. */
  private endOfPadding(text: string, start: number): number {
    const { end } = this.from
    if (end === undefined) return start
    const quote = text.indexOf('"', start)
    return quote !== -1 && isPlain(text, start, quote) && text.startsWith(end, quote) ? quote : -1
  }

  /**
   * Where the string ends, or -1 if it is none that `JSON.stringify` would have written the same way: no sign that it would
   * escape, no escape that it would not use, and no number of a character, which may be half of one.
   */
  private measure(text: string, start: number): number {
    let escapes = 0
    let moreBytes = 0
    for (let cursor = start; cursor < text.length; cursor++) {
      const code = text.charCodeAt(cursor)
      if (code === QUOTE) {
        this.size.characters = cursor - start - escapes
        this.size.bytes = this.size.characters + moreBytes
        return cursor
      }
      if (code < SPACE) return -1
      if (code === BACKSLASH) {
        if (!SHORT_ESCAPES.has(text.charCodeAt(++cursor))) return -1
        escapes++
      } else if (code >= 0x80) {
        moreBytes += code < 0x800 || isHalf(code) ? 1 : 2
      }
    }
    return -1
  }
}

function isPlain(text: string, start: number, end: number): boolean {
  for (let cursor = start; cursor < end; cursor++) {
    const code = text.charCodeAt(cursor)
    if (code < SPACE || code === BACKSLASH) return false
  }
  return true
}

const SHORT_ESCAPES: ReadonlySet<number> = new Set([...'"\\bfnrt'].map(sign => sign.charCodeAt(0)))

/** Of a character of two units, and four bytes. */
const isHalf = (code: number): boolean => code >= 0xd800 && code <= 0xdfff

/** The text of the one event that a frame became, if it became nothing else, and no half of a character waits behind it. */
export function soleDelta(events: readonly TurnEvent[]): string | undefined {
  const [event] = events
  if (events.length !== 1 || event?.type !== 'delta' || event.call !== undefined) return undefined
  return endsInHalf(event.text) ? undefined : event.text
}
