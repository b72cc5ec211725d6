import { formatDollars } from '../core/money.ts'
import {
  type Delivered,
  type DueNotice,
  type NoticeSubject,
  type Notices,
  type NoticeTarget,
  openTarget,
} from '../core/notices.ts'
import type { Sealer } from '../core/seal.ts'
import { DELIVERY_MS_MAX, type DeliveryLimits, deliver } from './deliver.ts'

export interface NotifierDeps {
  readonly notices: Notices
  readonly sealer: Sealer
  readonly clock: () => number
  /** Where the console is. */
  consoleUrl(): string
  /** Where other replicas tell as well: for so long, what one of them is telling is left to it. */
  readonly claimMs?: number | undefined
  /** How long a webhook may take, if not as long as usual. */
  readonly deliveryMsMax?: number
}

/** One delivery, for the log: of the address nothing but its origin. */
export interface Told {
  readonly account: string
  readonly to: string
  readonly error: string | undefined
}

/** After these, somebody has to look: the balance has to recover, or the notice to be set anew, before it is tried again. */
const RETRIES_MAX = 8
/** Doubled with each retry: the last one is about four hours after the first delivery. */
const FIRST_PAUSE_MS = 60_000
/** Delivered together; the others wait for the next look. */
const TOGETHER_MAX = 20

/** Longer than any delivery takes: who has it still then is gone, and another one tells it. */
export const CLAIM_MS = 60_000

/** Tells webhooks about low balances, once for each time that a balance falls below its threshold. */
export class Notifier {
  private readonly deps: NotifierDeps
  private readonly limits: DeliveryLimits
  private readonly stopping = new AbortController()
  private looking: Promise<readonly Told[]> | undefined

  constructor(deps: NotifierDeps) {
    this.deps = deps
    this.limits = { msMax: deps.deliveryMsMax ?? DELIVERY_MS_MAX, stopping: this.stopping.signal }
  }

  /** Looks at all balances and tells what has to be told. While one look is under way, another has nothing to do. */
  async check(): Promise<readonly Told[]> {
    if (this.looking || this.stopping.signal.aborted) return []
    this.looking = this.look()
    try {
      return await this.looking
    } finally {
      this.looking = undefined
    }
  }

  /** Tries a webhook out, whatever the balance is; nothing is remembered of it. */
  test(target: NoticeTarget, subject: NoticeSubject): Promise<Delivered> {
    return deliver(target, this.message('test', subject), this.limits)
  }

  /** What is under way is cut off; the next start delivers it. */
  async stop(): Promise<void> {
    this.stopping.abort()
    await this.looking?.catch(() => {})
  }

  private async look(): Promise<readonly Told[]> {
    const { notices, clock, claimMs = 0 } = this.deps
    const now = clock()
    const claimedUntil = now + claimMs
    const due = await notices.due({ now, claimedUntil, triesMax: 1 + RETRIES_MAX, limit: TOGETHER_MAX })
    return Promise.all(due.map(notice => this.tell(notice)))
  }

  private async tell(notice: DueNotice): Promise<Told> {
    const { notices, sealer, clock } = this.deps
    const target = openTarget(notice.sealed, sealer)
    const { error } = target
      ? await deliver(target, this.message('balance.low', notice), this.limits)
      : { error: 'the address was sealed with another DUET_SECRET: set it anew' }
    const told = { account: notice.accountId, to: target ? new URL(target.url).origin : 'unknown', error }
    // A delivery that the end of this process cut off says nothing about the webhook.
    if (this.stopping.signal.aborted && error !== undefined) return told
    if (error === undefined) await notices.told(notice, clock())
    else await notices.failed(notice, { error, dueAt: clock() + FIRST_PAUSE_MS * 2 ** notice.tries })
    return told
  }

  private message(event: 'balance.low' | 'test', { accountId, accountName, balance, threshold }: NoticeSubject) {
    return {
      event,
      account: { id: accountId, name: accountName },
      balance: formatDollars(balance),
      threshold: formatDollars(threshold),
      at: new Date(this.deps.clock()).toISOString(),
      console: this.deps.consoleUrl(),
    }
  }
}
