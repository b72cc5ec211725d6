/** How often somebody may be wrong, and for how long that is remembered. */
export interface AttemptLimits {
  readonly failuresMax: number
  readonly windowMs: number
}

/** Counts of attempts, of which each lasts from its first attempt until its window is over. */
export interface AttemptCounts {
  /** Counts one more, unless there are too many: then it returns for how long that will be so, in milliseconds. */
  add(who: string, limits: AttemptLimits): Promise<number | undefined>
  /** One less. */
  takeBack(who: string): Promise<void>
  /** None any more. */
  forget(who: string): Promise<void>
}
