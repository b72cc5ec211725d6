/** What a message of a conversation says of tools: the ids of its calls, the ids that its results answer. */
export interface Exchange {
  readonly isAssistant: boolean
  readonly calls: readonly string[]
  readonly results: readonly string[]
}

/** A conversation looked through: which call goes by which id, and where calls and results have lost each other. */
export interface Inspection {
  /** For each message, the ids of its calls and of its results as they should be; undefined for a result of no call. */
  readonly ids: readonly { readonly calls: readonly string[]; readonly results: readonly (string | undefined)[] }[]
  /** Calls that nobody answered, by the message behind which their results belong. */
  readonly unanswered: ReadonlyMap<number, readonly string[]>
}

/** Looks only; a like pair changes the caller's text where this finds something, and nowhere else. */
export function inspect(conversation: readonly Exchange[], nameCall: (id: string) => string): Inspection {
  const unanswered = new Map<number, string[]>()
  const waiting = new Map<string, string[]>()
  /** The assistant's message after which results are due. */
  let due = -1

  const settle = () => {
    const missing = [...waiting.values()].flat()
    if (missing.length > 0) unanswered.set(due, missing)
    waiting.clear()
  }

  const ids = conversation.map(({ isAssistant, calls, results }, place) => {
    if (isAssistant && due !== place - 1) settle()
    if (isAssistant) due = place
    const named = calls.map(id => {
      const name = nameCall(id)
      const others = waiting.get(id)
      if (others) others.push(name)
      else waiting.set(id, [name])
      return name
    })
    return { calls: named, results: results.map(id => waiting.get(id)?.shift()) }
  })
  settle()
  return { ids, unanswered }
}

/** More calls of one turn than this are inspected in full: going through them for each result would take too long. */
const WAITING_MAX = 64

/**
 * The short way through a conversation in which calls and results have not lost each other, as nearly all are: nothing is
 * kept but the calls that wait. Whoever gets a `false` has to `inspect`.
 */
export class OpenCalls {
  private readonly waiting: string[] = []
  /** The assistant's message after which results are due. */
  private due = -1

  /** The assistant speaks. */
  turn(place: number): boolean {
    const isMissed = this.waiting.length > 0 && this.due !== place - 1
    this.due = place
    return !isMissed
  }

  call(id: string): boolean {
    return this.waiting.push(id) <= WAITING_MAX
  }

  answer(id: string): boolean {
    const place = this.waiting.indexOf(id)
    if (place === -1) return false
    this.waiting.splice(place, 1)
    return true
  }

  get isEmpty(): boolean {
    return this.waiting.length === 0
  }
}
