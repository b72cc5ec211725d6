import { CHAIN_START, chainHash } from '../core/chain.ts'
import type { ChargeInputs, Entry } from '../core/ledger.ts'
import { formatDollars, type Nanos, nanos, ZERO } from '../core/money.ts'
import { cost, TOKEN_CLASSES } from '../core/price.ts'
import {
  type AccountClaims,
  type Audit,
  type AuditedUsage,
  addSums,
  NO_SUMS,
  type Opening,
  type UsageSums,
} from '../core/records.ts'
import { endOfTurn } from '../core/turns.ts'
import { NO_USAGE } from '../core/usage.ts'

/** The first row that does not fit: what it says, and what everything else says it should. */
export interface Problem {
  readonly table: 'entries' | 'accounts' | 'keys' | 'usage' | 'usage_hours'
  readonly row: string
  readonly problem: string
  readonly expected: string
  readonly found: string
}

export interface Verification {
  readonly accounts: number
  readonly entries: number
  readonly charges: number
  /** Charges from before prices had versions: chained and summed, but not computed again. */
  readonly unpriced: number
  readonly usage: number
  readonly openHolds: number
  readonly balance: Nanos
  readonly heads: ReadonlyMap<string, string>
  readonly problem: Problem | undefined
}

export interface Progress {
  readonly checked: number
  readonly total: number
}

/** Rows between two pauses, in which the gateway does its work. */
const SLICE_ROWS = 1_000

export interface VerifyOptions {
  readonly report?: (progress: Progress) => void
  /** Nobody waits for the result any more. */
  readonly signal?: AbortSignal
}

/** Computes every charge, every balance and every sum again, from the rows they came from. */
export async function verify(audit: Audit, { report, signal }: VerifyOptions = {}): Promise<Verification> {
  const size = await audit.size()
  const found = { accounts: 0, entries: 0, charges: 0, unpriced: 0, usage: 0, balance: ZERO }
  const heads = new Map<string, string>()
  const result = (problem?: Problem): Verification => ({ ...found, heads, openHolds: size.holds, problem })
  const pause = async () => {
    report?.({ checked: found.entries + found.usage, total: size.rows })
    await endOfTurn()
    signal?.throwIfAborted()
  }

  for (const id of await audit.accountIds()) {
    const chain = new AccountChain(id)
    for (let isLast = false; !isLast; ) {
      const slice = await audit.entriesAfter(id, chain.seq, SLICE_ROWS)
      if (slice.opening) chain.resume(slice.opening)
      const problem = first(slice.entries, entry => chain.follow(entry))
      isLast = slice.isLast
      const wrong = problem ?? (isLast ? chain.compare(slice.claims) : undefined)
      if (wrong) return result(wrong)
      found.entries += slice.entries.length
      await pause()
    }
    found.accounts++
    found.charges += chain.charges
    found.unpriced += chain.unpriced
    found.balance = nanos(found.balance + chain.balance)
    heads.set(id, chain.head)
  }

  const checkUsage = async (): Promise<Problem | undefined> => {
    let totals = new UsageTotals(0)
    found.usage = 0
    for (let sums: ReadonlyMap<string, UsageSums> | undefined, id = 0; !sums; ) {
      const slice = await audit.usageAfter(id, SLICE_ROWS)
      if (slice.keptSince !== totals.keptSince) {
        // Some of what was added up is not kept any more.
        totals = new UsageTotals(slice.keptSince)
        found.usage = 0
        if (id > 0) {
          id = 0
          continue
        }
      }
      const problem = first(slice.rows, row => totals.add(row))
      sums = slice.sums
      const wrong = problem ?? (sums ? totals.compare(sums) : undefined)
      if (wrong) return wrong
      found.usage += slice.rows.length
      id = slice.rows.at(-1)?.id ?? id
      await pause()
    }
    return undefined
  }
  // A record may be replaced by a later one while this goes on, where an interrupted call is charged after all: it was added
  // up twice then. What is wrong twice is wrong.
  return result((await checkUsage()) && (await checkUsage()))
}

function first<T>(rows: readonly T[], check: (row: T) => Problem | undefined): Problem | undefined {
  for (const row of rows) {
    const problem = check(row)
    if (problem) return problem
  }
  return undefined
}

/** One account's entries, followed from the first to the last. */
class AccountChain {
  seq = 0
  head = CHAIN_START
  balance = ZERO
  charges = 0
  unpriced = 0
  private readonly id: string
  private spentByKey = new Map<string, Nanos>()

  constructor(id: string) {
    this.id = id
  }

  /** From what was before the entries that are there. */
  resume({ seq, head, balance, spentByKey }: Opening): void {
    this.seq = seq
    this.head = head
    this.balance = balance
    this.charges = 0
    this.unpriced = 0
    this.spentByKey = new Map(spentByKey)
  }

  follow(entry: Entry): Problem | undefined {
    const wrong = differs('entries', `${this.id}/${entry.seq}`)
    const gap = wrong('the number does not follow on', this.seq + 1, entry.seq)
    if (gap) return gap
    this.balance = nanos(this.balance + entry.amount)
    if (entry.kind === 'charge') this.charge(entry)
    const problem =
      this.recompute(entry) ??
      wrong('the balance is not the sum of the entries', this.balance, entry.balance) ??
      wrong('the hash does not fit: this row, or one before it, was changed', chainHash(this.head, entry), entry.hash)
    this.seq = entry.seq
    this.head = entry.hash
    return problem
  }

  compare(claims: AccountClaims | undefined): Problem | undefined {
    const wrong = differs('accounts', this.id)
    if (!claims) return wrong('the account of these entries is not there', this.balance, ZERO)
    const ids = new Set(claims.keys.map(({ id }) => id))
    const spent = [...this.spentByKey.values()].reduce((sum, amount) => nanos(sum + amount), ZERO)
    return (
      wrong('the number of entries is wrong: rows are missing at the end', claims.entries, this.seq) ??
      wrong('the last hash is not that of the last entry', this.head, claims.head) ??
      wrong('the balance is not the sum of the entries', this.balance, claims.balance) ??
      wrong('the amount spent is not the sum of the charges', spent, claims.spent) ??
      wrong('the amount held is not the sum of the holds', claims.heldInRows, claims.held) ??
      first(claims.keys, key => {
        const wrongKey = differs('keys', key.id)
        return (
          wrongKey('the amount spent is not the sum of its charges', this.spentByKey.get(key.id) ?? ZERO, key.spent) ??
          wrongKey('the amount held is not the sum of its holds', key.heldInRows, key.held)
        )
      }) ??
      first([...this.spentByKey], ([id, amount]) => {
        return ids.has(id) ? undefined : differs('keys', id)('the key of these charges is not there', amount, ZERO)
      })
    )
  }

  private charge({ keyId = '', amount, inputs }: Entry): void {
    this.charges++
    if (!inputs) this.unpriced++
    this.spentByKey.set(keyId, nanos((this.spentByKey.get(keyId) ?? ZERO) - amount))
  }

  private recompute({ seq, amount, inputs }: Entry): Problem | undefined {
    if (!inputs) return undefined
    const expected = nanos(-cost({ ...NO_USAGE, ...inputs.usage }, inputs.price))
    return differs('entries', `${this.id}/${seq}`)('tokens and price do not make this amount', expected, amount)
  }
}

/** All records of requests, against what was charged for them and against the sums kept by the hour. */
class UsageTotals {
  /** Records of requests that started before this are not among them. */
  readonly keptSince: number
  private readonly sums = new Map<string, UsageSums>()

  constructor(keptSince: number) {
    this.keptSince = keptSince
  }

  add({ row, price, charge }: AuditedUsage): Problem | undefined {
    const wrong = differs('usage', row.requestId)
    const sums = this.sums.get(row.accountId) ?? NO_SUMS
    this.sums.set(row.accountId, addSums(sums, { requests: 1, usage: row.usage, cost: row.cost }))
    return (
      (price && wrong('tokens and price do not make this cost', cost(row.usage, price), row.cost)) ??
      wrong('the cost is not what was charged', charge?.amount ?? ZERO, row.cost) ??
      (charge?.usage && wrong('the tokens are not those charged', sayTokens(charge.usage), sayTokens(row.usage))) ??
      (charge && wrong('the key is not the one charged', charge.keyId, row.keyId)) ??
      (charge?.usage && wrong('it did not end when it was charged', charge.at, row.startedAt + row.durationMs)) ??
      (price && wrong('the model is not that of the price', price.model, row.call.model))
    )
  }

  compare(kept: ReadonlyMap<string, UsageSums>): Problem | undefined {
    return first([...new Set([...this.sums.keys(), ...kept.keys()])].sort(), id => {
      const wrong = differs('usage_hours', id)
      const [counted, claimed] = [this.sums.get(id) ?? NO_SUMS, kept.get(id) ?? NO_SUMS]
      return (
        wrong('the number of requests is not that of the records', counted.requests, claimed.requests) ??
        wrong('the cost is not the sum of the records', counted.cost, claimed.cost) ??
        wrong('the tokens are not the sum of the records', saySums(counted), saySums(claimed))
      )
    })
  }
}

const sayTokens = (usage: ChargeInputs['usage']): string =>
  TOKEN_CLASSES.map(name => `${usage[name]} ${name}`).join(', ')

const saySums = ({ usage }: UsageSums): string => `${sayTokens(usage)}, ${usage.reasoning} reasoning`

type Said = string | number | Nanos

const differs =
  (table: Problem['table'], row: string) =>
  (problem: string, expected: Said, found: Said): Problem | undefined =>
    expected === found ? undefined : { table, row, problem, expected: say(expected), found: say(found) }

const say = (value: Said): string => (typeof value === 'bigint' ? formatDollars(value) : String(value))
