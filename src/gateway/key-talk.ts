import { type Heard, type KeyUse, type KeyUses, SAID_AGAIN_MS } from '../core/key-uses.ts'
import { Soon } from '../core/soon.ts'
import type { KeyState } from './key-use.ts'

/** Twice a second: what is known of others is less than a second old, with time for the exchange itself. */
const PAUSE_MS = 500
const FRESH_MS = 1_000
/** A database that takes longer will hardly let the request in; who asks it for money says so. */
const ANSWER_MS_MAX = 1_000

/**
 * Exchanges with other replicas what is done with keys that have limits, as long as this one has such keys in use. Its own
 * counts decide at once; those of the others are the last that were heard.
 */
export class KeyTalk {
  private readonly states: Map<string, KeyState>
  private readonly uses: KeyUses
  private readonly clock: () => number
  private readonly soon = new Soon(() => this.exchange())
  private timer: ReturnType<typeof setTimeout> | undefined
  private isOver = false

  constructor(states: Map<string, KeyState>, uses: KeyUses, clock: () => number) {
    this.states = states
    this.uses = uses
    this.clock = clock
  }

  /** Undefined where what is known is fresh; otherwise resolves, whatever happens, when the others were asked. */
  about(state: KeyState): Promise<void> | undefined {
    const now = this.clock()
    state.askedAt = now
    return now - state.others.heardAt < FRESH_MS ? undefined : Promise.race([this.soon.do(), Bun.sleep(ANSWER_MS_MAX)])
  }

  stop(): void {
    this.isOver = true
    clearTimeout(this.timer)
  }

  private async exchange(): Promise<void> {
    clearTimeout(this.timer)
    const now = this.clock()
    this.forgetIdle(now)
    const known = [...this.states]
    const news = known.filter(([, state]) => hasNews(state, now))
    const told = news.map(([, { underWay, entered }]) => ({ underWay, entered, at: now }))
    try {
      const heard = await this.uses.exchange(
        news.map(news => useOf(news, now)),
        known.map(([keyId]) => keyId),
      )
      forgetLost(known, heard)
      news.forEach(([, state], place) => {
        state.told = told[place]
      })
      hear(known, heard, now)
    } catch {
      // The same database is asked whether there is money for a request: nobody gets past a limit for long.
    }
    if (this.states.size > 0 && !this.isOver) this.timer = setTimeout(() => this.soon.do(), PAUSE_MS)
  }

  private forgetIdle(now: number): void {
    for (const [keyId, state] of this.states) {
      const isAwaited = now - (state.askedAt ?? Number.NEGATIVE_INFINITY) < FRESH_MS
      const isUsed = state.underWay > 0 || !state.lastMinute.isEmpty(now)
      const isToldOf = (state.told?.underWay ?? 0) > 0
      if (!isAwaited && !isUsed && !isToldOf) this.states.delete(keyId)
    }
  }
}

type Known = readonly [keyId: string, state: KeyState]

function hasNews({ underWay, entered, told }: KeyState, now: number): boolean {
  if (underWay !== (told?.underWay ?? 0) || entered !== (told?.entered ?? 0)) return true
  return told !== undefined && underWay > 0 && now - told.at >= SAID_AGAIN_MS
}

const useOf = ([keyId, { underWay, lastMinute }]: Known, now: number): KeyUse => ({
  keyId,
  underWay,
  recent: lastMinute.recent(now).map(({ last, count }) => ({ ageMs: Math.round(now - last), count })),
})

/** What was told and is not there any more is told again the next time. */
function forgetLost(known: readonly Known[], { remembered }: Heard): void {
  for (const [keyId, state] of known) if (!remembered.has(keyId)) state.told = undefined
}

function hear(known: readonly Known[], { others }: Heard, now: number): void {
  const byKey = Map.groupBy(others, ({ keyId }) => keyId)
  for (const [keyId, state] of known) {
    const uses = byKey.get(keyId) ?? []
    state.others = {
      underWay: uses.reduce((sum, { underWay }) => sum + underWay, 0),
      recent: uses.flatMap(({ recent }) => recent.map(({ ageMs, count }) => ({ last: now - ageMs, count }))),
      heardAt: now,
    }
  }
}
