import { AdminError } from './failure.ts'
import type { Actor } from './route.ts'

export interface SlotLimits {
  /** For the refusal. */
  readonly what: string
  readonly ofOneMax: number
  readonly ofAllMax: number
}

/** How much of something long goes on at once: one person does not take the place of all others. */
export class Slots {
  private readonly limits: SlotLimits
  private readonly taken = new Map<string, number>()
  private all = 0

  constructor(limits: SlotLimits) {
    this.limits = limits
  }

  /** Returns how to leave; whoever is gone before anything was sent has left as well. */
  take({ user }: Actor, signal: AbortSignal): () => void {
    const who = user?.id ?? 'admin token'
    const { what, ofOneMax, ofAllMax } = this.limits
    const own = this.taken.get(who) ?? 0
    if (own >= ofOneMax) {
      throw new AdminError(429, 'too_many_at_once', `you have ${own} ${what} open already`, { retryAfter: 5 })
    }
    if (this.all >= ofAllMax) {
      throw new AdminError(503, 'too_many_at_once', `${this.all} ${what} are open already`, { retryAfter: 10 })
    }
    this.taken.set(who, own + 1)
    this.all++
    let isHere = true
    const leave = () => {
      if (isHere) this.free(who)
      isHere = false
    }
    signal.addEventListener('abort', leave, { once: true })
    if (signal.aborted) leave()
    return leave
  }

  private free(who: string): void {
    this.all--
    const own = (this.taken.get(who) ?? 1) - 1
    if (own > 0) this.taken.set(who, own)
    else this.taken.delete(who)
  }
}
