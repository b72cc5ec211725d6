/** An owner of holds that has not been heard of for this long is dead; it is heard of three times as often (`tend`). */
// Replicas of the release before take a lease of more than twice their own for one of a clock that was set back.
export const LEASE_MS = 15_000
export const TEND_MS = LEASE_MS / 3
