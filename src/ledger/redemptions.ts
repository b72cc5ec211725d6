import type { Claim, ClaimedCode, Codes } from '../core/codes.ts'
import type { DepositOutcome, Entry } from '../core/ledger.ts'
import type { Ledger } from './ledger.ts'

export type Redemption =
  | { readonly type: 'redeemed'; readonly entry: Entry }
  /** It is this account's now, and is paid as soon as there is room for it. */
  | { readonly type: 'balance-too-large' }
  | { readonly type: 'refused'; readonly why: 'unknown' | 'redeemed' | 'expired' }

/** What one look makes good at most; the next one goes on. */
const MADE_GOOD_MAX = 100

/**
 * Turns codes into money exactly once: a code is claimed for an account, the account gets a deposit whose source is the
 * code, and the code gets the number of that entry. Whatever interrupts it after the claim, `makeGood` goes on from
 * there: the claim names the account, and the same source again is applied once.
 */
export class Redemptions {
  private readonly codes: Codes
  private readonly ledger: Ledger

  constructor(codes: Codes, ledger: Ledger) {
    this.codes = codes
    this.ledger = ledger
  }

  async redeem(claim: Claim): Promise<Redemption> {
    const claimed = await this.codes.claim(claim)
    if (typeof claimed === 'string') return { type: 'refused', why: claimed }
    const outcome = await this.pay(claimed)
    if (outcome.type === 'deposited') return { type: 'redeemed', entry: outcome.entry }
    if (outcome.type === 'balance-too-large') return outcome
    throw new Error(`there is no account ${claim.accountId}`)
  }

  /** Pays what was claimed and not paid; returns how many that were. */
  async makeGood(): Promise<number> {
    let paid = 0
    for (const claimed of await this.codes.unpaid(MADE_GOOD_MAX)) {
      const outcome = await this.pay(claimed)
      if (outcome.type === 'deposited' && outcome.applied) paid++
    }
    return paid
  }

  private async pay({ id, hint, amount, accountId, redeemedAt }: ClaimedCode): Promise<DepositOutcome> {
    const note = `redemption code ${hint}`
    const deposit = { kind: 'topup', accountId, amount, source: `code-${id}`, note, at: redeemedAt } as const
    const outcome = await this.ledger.deposit(deposit)
    if (outcome.type === 'deposited') await this.codes.paid(id, outcome.entry.seq)
    return outcome
  }
}
