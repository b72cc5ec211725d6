import type { JsonObject } from '../core/ask.ts'
import type { Source } from '../core/source.ts'
import { decodeText, parseBody } from '../protocol/body-text.ts'
import { TextSource } from '../protocol/json.ts'
import { LongBody } from '../protocol/long-body.ts'

/** A body that was read: what it says, and how it says it. */
export interface Reading {
  readonly body: JsonObject
  readonly source: Source
}

/** Shorter ones are read faster than they are looked for. */
const LONG_BYTES_MIN = 8 * 1024
/** Longer ones than agents send would drive out everyone else's. */
const LONG_BYTES_MAX = 1024 * 1024
/** Of one key: its conversation, and those of a few helpers that work at the same time. */
const CONVERSATIONS_MAX = 8
/** Of all. What is parsed takes about twice as much again if it is text, and up to thirty times if it is tiny values. */
const BYTES_MAX = 16 * 1024 * 1024
/** Agents come back within a minute, people within a few. */
const REMEMBERED_MS_MAX = 5 * 60_000

interface Remembered {
  readonly long: LongBody
  readonly at: number
}

/**
 * Reads bodies, and remembers long ones for a while: an agent sends the same conversation again with every turn, and what
 * was taken apart a moment ago is only compared. Each key has its own: nobody can learn from the time it takes what others
 * have sent. What comes out is what a first reading gives; only the way there is shorter.
 */
export class Recollection {
  private readonly clock: () => number
  private readonly bytesMax: number
  /** The latest at the end, of owners and of what is theirs. */
  private readonly owners = new Map<string, Remembered[]>()
  private bytes = 0

  constructor({ clock, bytesMax = BYTES_MAX }: { clock: () => number; bytesMax?: number }) {
    this.clock = clock
    this.bytesMax = bytesMax
  }

  read(bytes: Uint8Array, owner: string): Reading {
    if (bytes.byteLength < LONG_BYTES_MIN || bytes.byteLength > LONG_BYTES_MAX) return readAnew(bytes)
    const following = this.recall(bytes, owner)
    if (following) return { body: following.body, source: following }
    const text = decodeText(bytes)
    const body = parseBody(text)
    return { body, source: LongBody.of(bytes, text, body) ?? new TextSource(text) }
  }

  /** For a request that was let in: what nobody has paid for takes no room. */
  keep(source: Source, owner: string): void {
    if (source instanceof LongBody) this.remember(owner, source)
  }

  /** To be called now and then; what is read also makes room for itself. */
  forgetExpired(): void {
    const oldest = this.clock() - REMEMBERED_MS_MAX
    for (const [owner, theirs] of this.owners) {
      while (theirs[0] && theirs[0].at < oldest) this.drop(theirs)
      if (theirs.length === 0) this.owners.delete(owner)
    }
  }

  private recall(bytes: Uint8Array, owner: string): LongBody | undefined {
    const theirs = this.owners.get(owner) ?? []
    // Most of it, or it is another conversation that begins alike.
    const sharedMin = bytes.byteLength / 2
    for (let place = theirs.length - 1; place >= 0; place--) {
      const following = theirs[place]?.long.followedBy(bytes, sharedMin)
      if (following) return following
    }
    return undefined
  }

  private remember(owner: string, long: LongBody): void {
    const theirs = this.owners.get(owner) ?? []
    const before = theirs.findIndex(known => known.long === long.follows)
    long.follows = undefined
    if (before !== -1) this.bytes -= theirs.splice(before, 1)[0]?.long.bytes ?? 0
    theirs.push({ long, at: this.clock() })
    this.bytes += long.bytes
    if (theirs.length > CONVERSATIONS_MAX) this.drop(theirs)
    // To the end: the first is the one that has been away longest.
    this.owners.delete(owner)
    this.owners.set(owner, theirs)
    this.makeRoom()
  }

  private makeRoom(): void {
    for (const [owner, theirs] of this.owners) {
      while (this.bytes > this.bytesMax && theirs.length > 0) this.drop(theirs)
      if (theirs.length === 0) this.owners.delete(owner)
      if (this.bytes <= this.bytesMax) return
    }
  }

  private drop(theirs: Remembered[]): void {
    this.bytes -= theirs.shift()?.long.bytes ?? 0
  }
}

function readAnew(bytes: Uint8Array): Reading {
  const text = decodeText(bytes)
  return { body: parseBody(text), source: new TextSource(text) }
}
