import type { Claimed, Claims, NewClaim } from '../core/claims.ts'

/** How often another replica's call is looked at. */
const LOOK_MS = 200

/** A call that another replica makes; to be looked for again when this is over. */
export class Elsewhere {
  readonly fingerprint: string
  readonly over: Promise<void>

  constructor(fingerprint: string) {
    this.fingerprint = fingerprint
    this.over = Bun.sleep(LOOK_MS)
  }
}

/** The names that this replica makes calls under. */
export class OwnClaims {
  private readonly claims: Claims
  private readonly report: (error: unknown) => void
  /** Requests, from before they claim their names: whatever else the store has of this replica is left over. */
  private readonly underWay = new Set<string>()

  constructor(claims: Claims, report: (error: unknown) => void) {
    this.claims = claims
    this.report = report
  }

  async claim(claim: NewClaim, now: number): Promise<Claimed> {
    const { requestId } = claim
    this.underWay.add(requestId)
    let claimed: Claimed | undefined
    try {
      claimed = await this.claims.claim(claim, now)
      return claimed
    } finally {
      if (claimed?.type !== 'ours') this.underWay.delete(requestId)
    }
  }

  /** When the call is over. Nobody waits for it; what cannot be released now is tidied up later. */
  async release(claim: NewClaim): Promise<void> {
    this.underWay.delete(claim.requestId)
    await this.claims.release(claim).catch(this.report)
  }

  /** To be called now and then. */
  tidy(): Promise<void> {
    return this.claims.tidy(this.underWay)
  }
}
