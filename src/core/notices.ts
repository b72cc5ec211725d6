import type { Nanos } from './money.ts'
import type { Sealer } from './seal.ts'

/** Who is told when an account runs low, and how far the telling has come. */

export interface Notice {
  readonly accountId: string
  readonly threshold: Nanos
  /** Where to and signed with what, as `sealTarget` made it: addresses of webhooks have tokens in them. */
  readonly sealed: string
  /** Undefined since the balance was last at the threshold or above. */
  readonly toldAt: number | undefined
  /** Deliveries in a row that did not arrive. */
  readonly failures: number
  readonly error: string | undefined
}

/** Where a notice goes. */
export interface NoticeTarget {
  readonly url: string
  /** Signs what is sent. */
  readonly secret: string
}

/** What is told. */
export interface NoticeSubject {
  readonly accountId: string
  readonly accountName: string
  readonly balance: Nanos
  readonly threshold: Nanos
}

/** A notice whose time has come. */
export interface DueNotice extends Notice, NoticeSubject {
  /** Since the balance fell below the threshold. */
  readonly tries: number
}

/** What has become of a delivery. */
export interface Delivered {
  /** Undefined where nobody answered. */
  readonly status: number | undefined
  /** Undefined where it arrived. */
  readonly error: string | undefined
}

export interface NewNotice {
  readonly accountId: string
  readonly threshold: Nanos
  readonly sealed: string
}

/** A delivery that failed, and when the next one makes sense. */
export interface FailedDelivery {
  readonly error: string
  readonly dueAt: number
}

export interface DueRequest {
  readonly now: number
  /** Until then, nobody else is given what is returned. */
  readonly claimedUntil: number
  /** Tries after which it is given up. */
  readonly triesMax: number
  readonly limit: number
}

export interface Notices {
  notice(accountId: string): Promise<Notice | undefined>
  /** In place of the one before; it has told nothing yet. */
  set(notice: NewNotice): Promise<Notice>
  remove(accountId: string): Promise<boolean>
  /** Forgets what was told about balances that have recovered; returns those that are low and were not told. */
  due(request: DueRequest): Promise<readonly DueNotice[]>
  /** Both leave a notice alone that was set anew in the meantime: `sealed` is never the same twice. */
  told(notice: Pick<Notice, 'accountId' | 'sealed'>, at: number): Promise<void>
  failed(notice: Pick<Notice, 'accountId' | 'sealed'>, failure: FailedDelivery): Promise<void>
}

export const sealTarget = ({ url, secret }: NoticeTarget, sealer: Sealer): string =>
  sealer.seal(JSON.stringify({ url, secret }))

/** Undefined for one that was sealed with another secret: it has to be set anew. */
export function openTarget(sealed: string, sealer: Sealer): NoticeTarget | undefined {
  try {
    return JSON.parse(sealer.open(sealed)) as NoticeTarget
  } catch {
    return undefined
  }
}
