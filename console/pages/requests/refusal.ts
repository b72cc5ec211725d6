/** Amounts in the fixed messages of the two refusals about money: what was there, and what the call needed. */
export interface RefusedAmounts {
  readonly had: string
  /** Not said where nothing was left at all. */
  readonly needed: string | undefined
}

const MESSAGES = /用户额度不足|预扣费额度失败|token quota is not enough/
/** The sign is the fullwidth one, which nothing else in these messages has. */
const AMOUNTS = /＄(-?\d+(?:\.\d+)?)/g

export function readAmounts(error: string | null): RefusedAmounts | undefined {
  if (error === null || !MESSAGES.test(error)) return undefined
  const [had, needed] = [...error.matchAll(AMOUNTS)].map(([, amount]) => amount)
  return had === undefined ? undefined : { had, needed }
}
