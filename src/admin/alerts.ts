import type { Account, Key } from '../core/directory.ts'
import { dollars, formatDollars, type Nanos, ZERO } from '../core/money.ts'
import type { Records } from '../core/records.ts'
import type { Standing } from '../core/standing.ts'
import type { Catalog } from '../routing/catalog.ts'
import { DAY_MS, dayOf } from './chart.ts'
import type { AlertView } from './contract.ts'
import type { Actor } from './route.ts'
import { type Pace, runwayDays } from './runway.ts'

export interface AlertsDeps {
  readonly records: Records
  readonly standing: Standing
  catalog(): Catalog
  /** What is known of channels that do not answer. */
  channelAlerts?(): readonly AlertView[]
}

/** A balance that lasts no longer than this is worth a word, and so is one of so few dollars. */
const RUNWAY_DAYS_MIN = 7
const BALANCE_MIN = dollars(1)
const CAP_PERCENT = 80
/** The most pressing ones of a kind; whoever has more of them has other lists. */
const ALERTS_MAX = 20
/** Accounts that are looked at for it. */
const ACCOUNTS_MAX = 1_000

interface Occasion {
  /** Undefined for all accounts. */
  readonly account: Account | undefined
  readonly actor: Actor
  readonly now: number
  /** Whose balance may be worth a word. */
  readonly spending: readonly Spending[]
}

/** What is unusual: first what stops callers now, then what soon will. */
export async function findAlerts({ account, actor, now, spending }: Occasion, deps: AlertsDeps): Promise<AlertView[]> {
  const channels = actor.role === 'admin' ? [...(deps.channelAlerts?.() ?? []), ...missingPrices(deps.catalog())] : []
  const request = { accountId: account?.id, percent: CAP_PERCENT, now, limit: ALERTS_MAX }
  const keys = (await deps.standing.fullKeys(request)).map(keyAlert)
  return [...balanceAlerts(spending), ...keys, ...channels.slice(0, ALERTS_MAX)]
}

export interface Spending {
  readonly account: Account
  /** What was spent of late. */
  readonly pace: Pace
}

/** Of all accounts: those with little money, and those who spend any. */
export async function spendingAccounts(now: number, { records, standing }: AlertsDeps): Promise<Spending[]> {
  const from = dayOf(now, 1 - RUNWAY_DAYS_MIN)
  const rows = await records.summary(['account'], { from, to: dayOf(now, 2) }, ACCOUNTS_MAX)
  const spent = new Map(rows.map(({ by, cost }) => [String(by.account), cost]))
  const found = await standing.lowAccounts({ balance: BALANCE_MIN, named: [...spent.keys()], limit: ACCOUNTS_MAX })
  const days = (now - from) / DAY_MS
  return found.map(account => ({ account, pace: { spent: spent.get(account.id) ?? ZERO, days } }))
}

function balanceAlerts(accounts: readonly Spending[]): AlertView[] {
  return accounts
    .map(({ account, pace }) => ({ ...account, days: runwayDays(account.balance, pace) }))
    .filter(({ balance, days }) => balance <= BALANCE_MIN || (days !== null && days < RUNWAY_DAYS_MIN))
    .sort((a, b) => timeLeft(a) - timeLeft(b))
    .slice(0, ALERTS_MAX)
    .map(({ id, name, balance, days }) => {
      const who = { account: id, name, balance: formatDollars(balance) }
      return balance <= ZERO ? { kind: 'balance-empty', ...who } : { kind: 'balance-low', ...who, days }
    })
}

/** Empty ones first, and last those that nobody spends from. */
const timeLeft = ({ balance, days }: { readonly balance: Nanos; readonly days: number | null }): number =>
  balance <= ZERO ? -1 : (days ?? RUNWAY_DAYS_MIN)

function keyAlert({ id, name, cap = ZERO, spent }: Key): AlertView {
  const key = { key: id, name, cap: formatDollars(cap) }
  if (spent >= cap) return { kind: 'key-cap-reached', ...key }
  return { kind: 'key-near-cap', ...key, spent: formatDollars(spent) }
}

/** What nobody has priced is refused; callers of such a model cannot help themselves. */
const missingPrices = (catalog: Catalog): AlertView[] =>
  [...catalog.models.values()]
    .filter(({ price }) => price === undefined)
    .map(({ id }) => ({ kind: 'price-missing', model: id }))
