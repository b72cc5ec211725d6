import type { JsonObject } from '../core/ask.ts'
import type { Changes, Member, Source, Span, TextSize } from '../core/source.ts'
import { elements, layOut, members, outline, root } from './json.ts'

/**
 * A long body as the bytes it came in, with what is known of them. Conversations grow at their end: of one that was seen a
 * turn ago, only what is new is parsed. To take 200 KB of code apart anew costs several times as much as to pass it on.
 */

/** A member by its place in bytes. */
interface Placed extends Member {
  /** How many bytes its value has beyond its characters. */
  readonly surplus: number
}

interface Known {
  readonly bytes: Buffer
  readonly body: JsonObject
  readonly placed: readonly Placed[]
  /** The list of messages. */
  readonly list: Placed
  /** Where each message ends. */
  readonly ends: readonly number[]
  /** Of each message and all before it. */
  readonly surpluses: readonly number[]
}

const LIST = 'messages'
/** Smaller pieces are not worth a write of their own. */
const PIECE_BYTES_MIN = 256

/** A mark in front of the text would be none in the middle of it. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export class LongBody implements Source {
  readonly body: JsonObject
  private readonly known: Known
  private written: string | undefined
  private found: readonly Member[] | undefined

  /** The one that this one goes on with, until it takes its place. */
  follows: LongBody | undefined

  private constructor(known: Known, text?: string) {
    this.known = known
    this.body = known.body
    this.written = text
  }

  /** Undefined for one that is no conversation, or has a key twice: such a body is not worth remembering. */
  static of(bytes: Uint8Array, text: string, body: JsonObject): LongBody | undefined {
    const { members: found, elements: messages } = outline(text, LIST)
    const surplus = Buffer.byteLength(text) - text.length
    const isAll = text.length + surplus === bytes.byteLength
    const isOnce = found.length === Object.keys(body).length
    if (!isAll || !isOnce || messages.length === 0) return undefined
    const surplusTo = surplusCounter(text, surplus)
    const placed = found.map(member => inBytes(member, surplusTo))
    const list = placed.find(({ key }) => key === LIST)
    if (!list) return undefined
    const before = list.start - (found.find(({ key }) => key === LIST)?.start ?? 0)
    const surpluses = messages.map(({ end }) => surplusTo(end) - before)
    const ends = messages.map(({ end }, place) => end + before + (surpluses[place] ?? 0))
    return new LongBody({ bytes: asBuffer(bytes), body, placed, list, ends, surpluses }, text)
  }

  /**
   * The next body of the same conversation; undefined where it is another one, has less than so many bytes in common with
   * this one, or anything else has changed.
   */
  followedBy(next: Uint8Array, sharedMin = 0): LongBody | undefined {
    const { bytes, list, ends, surpluses, body, placed } = this.known
    const following = asBuffer(next)
    const shift = following.length - bytes.length
    const tail = { start: list.end - 1, end: bytes.length }
    const shared = this.sharedWith(following, tail.start + shift)
    if (shared === -1 || (ends[shared] ?? 0) < sharedMin) return undefined
    if (!isSame(bytes, tail, following, tail.start + shift)) return undefined
    const added = addedIn(following, { start: ends[shared] ?? 0, end: tail.start + shift })
    if (!added) return undefined

    const before = surpluses[shared] ?? 0
    const grown = { ...list, end: list.end + shift, surplus: before + added.surplus }
    const kept = <T>(all: readonly T[]) => all.slice(0, shared + 1)
    const result = new LongBody({
      bytes: following,
      body: { ...body, [LIST]: kept(body[LIST] as readonly unknown[]).concat(added.messages) },
      list: grown,
      placed: placed.map(member =>
        member.start > list.start ? moved(member, shift) : member === list ? grown : member,
      ),
      ends: kept(ends).concat(added.ends),
      surpluses: kept(surpluses).concat(added.surpluses.map(surplus => before + surplus)),
    })
    result.follows = this
    return result
  }

  get bytes(): number {
    return this.known.bytes.byteLength
  }

  get text(): string {
    this.written ??= decoder.decode(this.known.bytes)
    return this.written
  }

  get members(): readonly Member[] {
    this.found ??= members(this.text, root(this.text))
    return this.found
  }

  sizeOf(isMeant: (key: string) => boolean): TextSize {
    let characters = 0
    let bytes = 0
    for (const { key, start, end, surplus } of this.known.placed) {
      if (!isMeant(key)) continue
      characters += end - start - surplus
      bytes += end - start
    }
    return { characters, bytes }
  }

  edited(changes: Changes): readonly Uint8Array[] {
    const pieces: Uint8Array[] = []
    let short = ''
    for (const piece of layOut(this.known.placed, changes)) {
      if (typeof piece === 'string') short += piece
      else if (piece.end - piece.start < PIECE_BYTES_MIN)
        short += this.known.bytes.toString('utf8', piece.start, piece.end)
      else {
        if (short !== '') pieces.push(Buffer.from(short))
        short = ''
        pieces.push(this.known.bytes.subarray(piece.start, piece.end))
      }
    }
    if (short !== '') pieces.push(Buffer.from(short))
    return pieces
  }

  /** The last message that both bodies begin with; -1 where there is none. */
  private sharedWith(other: Buffer, limit: number): number {
    const { bytes, ends } = this.known
    const isShared = (from: number, to: number) => to <= limit && isSame(bytes, { start: from, end: to }, other, from)
    if (!isShared(0, ends[0] ?? 0)) return -1
    let low = 0
    let high = ends.length - 1
    // Nearly always all of them, or all but the last few.
    let middle = high
    while (low < high) {
      if (isShared(ends[low] ?? 0, ends[middle] ?? 0)) low = middle
      else high = middle - 1
      middle = Math.ceil((low + high) / 2)
    }
    return low
  }
}

/** Messages that stand between those that are known and the end of the list; undefined if anything else does. */
function addedIn(bytes: Buffer, { start, end }: Span): Added | undefined {
  if (start === end) return NOTHING_ADDED
  try {
    const rest = decoder.decode(bytes.subarray(start, end))
    // It follows a value in a list: with another value in front of it, it must be a list again.
    const text = `${STAND_IN}${rest}]`
    const messages: unknown[] = JSON.parse(text)
    const surplus = end - start - rest.length
    const surplusTo = surplusCounter(text, surplus)
    const spans = elements(text, 0).slice(1)
    const surpluses = spans.map(span => surplusTo(span.end))
    const ends = spans.map((span, place) => start + span.end + (surpluses[place] ?? 0) - STAND_IN.length)
    return { messages: messages.slice(1), ends, surpluses, surplus }
  } catch {
    return undefined
  }
}

const STAND_IN = '[{}'

interface Added {
  readonly messages: readonly unknown[]
  readonly ends: readonly number[]
  readonly surpluses: readonly number[]
  readonly surplus: number
}

const NOTHING_ADDED: Added = { messages: [], ends: [], surpluses: [], surplus: 0 }

/** Says how many bytes a text has beyond its characters up to a place; best asked from front to back. */
function surplusCounter(text: string, all: number): (place: number) => number {
  if (all === 0) return () => 0
  let counted = 0
  let surplus = 0
  return place => {
    if (place < counted) [counted, surplus] = [0, 0]
    surplus += Buffer.byteLength(text.slice(counted, place)) - (place - counted)
    counted = place
    return surplus
  }
}

function inBytes({ key, keyStart, start, end }: Member, surplusTo: (place: number) => number): Placed {
  const beforeKey = surplusTo(keyStart)
  const before = surplusTo(start)
  const after = surplusTo(end)
  return { key, keyStart: keyStart + beforeKey, start: start + before, end: end + after, surplus: after - before }
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const isSame = (a: Buffer, { start, end }: Span, b: Buffer, at: number): boolean =>
  a.compare(b, at, at + end - start, start, end) === 0

const moved = (member: Placed, by: number): Placed => ({
  ...member,
  keyStart: member.keyStart + by,
  start: member.start + by,
  end: member.end + by,
})
