/** What a message of a conversation says of tools: the ids of its calls, the ids that its results answer. */
export interface Exchange {
  readonly isAssistant: boolean
  readonly calls: readonly string[]
  readonly results: readonly string[]
}

/** Where calls and results have lost each other. */
export interface Breaks {
  /** Results that answer nothing: by message, their places among its results. */
  readonly orphans: ReadonlyMap<number, ReadonlySet<number>>
  /** Calls that nobody answered, by the message behind which their results belong. */
  readonly unanswered: ReadonlyMap<number, readonly string[]>
}

/** Looks only; a like pair changes the caller's text where this finds something, and nowhere else. */
export function findBreaks(conversation: readonly Exchange[]): Breaks | undefined {
  const orphans = new Map<number, Set<number>>()
  const unanswered = new Map<number, string[]>()
  let open = new Map<string, number>()
  /** The assistant's message after which results are due. */
  let due = -1

  const settle = () => {
    const missing = [...open].flatMap(([id, count]) => Array<string>(count).fill(id))
    if (missing.length > 0) unanswered.set(due, missing)
    open = new Map()
  }

  conversation.forEach(({ isAssistant, calls, results }, place) => {
    if (isAssistant) {
      if (due !== place - 1) settle()
      due = place
      for (const id of calls) open.set(id, (open.get(id) ?? 0) + 1)
    }
    results.forEach((id, index) => {
      const count = open.get(id) ?? 0
      if (count > 1) open.set(id, count - 1)
      else if (!open.delete(id)) orphans.set(place, (orphans.get(place) ?? new Set()).add(index))
    })
  })
  settle()
  return orphans.size + unanswered.size > 0 ? { orphans, unanswered } : undefined
}
