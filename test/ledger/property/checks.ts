import { chainHash } from '../../../src/core/chain.ts'
import { TEND_MS } from '../../../src/core/leases.ts'
import { type EntryRow, toEntry } from '../../../src/store/rows.ts'
import type { Found, FoundHold, FoundUsage } from './look.ts'
import type { Model, ModelEntry, ModelUsage } from './model.ts'
import { describe, type Operation, UNAVAILABLE } from './operations.ts'

/** The promises, by their numbers in the design of the ledger, and one that goes without saying. */
export const PROMISES = {
  1: 'exact',
  2: 'held before spent',
  3: 'charged before delivered',
  4: 'nothing leaks',
  5: 'settled by what was used',
  8: 'recomputable',
  answers: 'what is answered is so',
} as const

export type PromiseName = keyof typeof PROMISES

/** A promise was not kept. */
export class Broken extends Error {
  readonly promise: PromiseName

  constructor(promise: PromiseName, found: string) {
    super(found)
    this.promise = promise
  }
}

/** Not what was kept is wrong, but what was said about it. */
export class WrongAnswer extends Broken {}

function demand(isKept: boolean, promise: PromiseName, found: () => string): asserts isKept {
  if (!isKept) throw new Broken(promise, found())
}

// ── the books in themselves ─────────────────────────────────────────────────────────────────────────────────────────

/** Whatever happened, sums fit. */
export function checkSums({ accounts, keys, holds, sums, totals }: Found): void {
  for (const account of accounts) {
    let [balance, spent, held, entries] = [0n, 0n, 0n, 0n]
    for (const sum of sums) {
      if (sum.account_id !== account.id) continue
      balance += sum.amount
      entries += sum.entries
      if (sum.key_id !== null) spent -= sum.amount
    }
    for (const hold of holds) if (hold.account_id === account.id) held += hold.amount
    const inRows = () => `account ${say(account)} should be, by its rows, ${say({ balance, held, spent, entries })}`
    demand(account.balance === balance && account.spent === spent, 1, inRows)
    demand(account.held === held, 2, inRows)
    demand(account.entries === entries, 8, inRows)
  }
  for (const key of keys) {
    let [spent, held] = [0n, 0n]
    for (const sum of sums) if (sum.key_id === key.id) spent -= sum.amount
    for (const hold of holds) if (hold.key_id === key.id) held += hold.amount
    const inRows = () => `key ${say(key)} should be, by its rows, ${say({ spent, held })}`
    demand(key.spent === spent, 1, inRows)
    demand(key.held === held, 2, inRows)
  }
  const charged = accounts.reduce((sum, { spent }) => sum + spent, 0n)
  demand(totals.cost === charged, 8, () => `records cost ${totals.cost}, charges are ${charged}`)
  const isHourly =
    totals.usage === totals.usage_by_hour && totals.cost === totals.cost_by_hour && totals.wrong_days === 0n
  demand(isHourly, 8, () => `the sums by the hour are not those of the records: ${say(totals)}`)
}

/** New entries follow on the ones before; returns the new heads. */
export function checkChain(heads: ReadonlyMap<string, string>, { accounts, entries }: Found): Map<string, string> {
  const next = new Map(heads)
  for (const row of entries) {
    const { hash, ...entry } = toEntry(row)
    const expected = chainHash(next.get(row.account_id) ?? '', entry)
    demand(hash === expected, 8, () => `entry ${row.account_id}/${row.seq} has the hash ${hash} instead of ${expected}`)
    next.set(row.account_id, hash)
  }
  for (const { id, head } of accounts) {
    demand(head === (next.get(id) ?? ''), 8, () => `account ${id}: the head is not the hash of the last entry`)
  }
  return next
}

// ── the books against what was asked for ────────────────────────────────────────────────────────────────────────────

export function checkAnswer(expected: string, answer: string, operation: Operation): void {
  if (expected === answer) return
  const promise = answer === UNAVAILABLE ? 'answers' : ANSWERS[operation.type]
  const found = `should be answered: ${expected}\n  was answered:       ${answer}`
  throw new WrongAnswer(promise, `${describe(operation)}\n  ${found}`)
}

const ANSWERS: Record<Operation['type'], PromiseName> = {
  ...{ hold: 2, extend: 2, settle: 5, refuse: 4, deposit: 1, renew: 4, recover: 4 },
  ...{ cap: 'answers', enable: 'answers', revoke: 'answers', key: 'answers', publish: 'answers' },
}

/** So many requests against money for so many, all at once. */
export function checkAdmissions(expected: number, log: readonly { readonly answer: string | undefined }[]): void {
  const admitted = log.filter(({ answer }) => answer?.startsWith('held')).length
  demand(admitted === expected, 2, () => `${admitted} of ${log.length} were admitted, there is money for ${expected}`)
}

export function checkNoFormerOwner(holds: readonly FoundHold[], owner: string): void {
  const left = holds.find(hold => hold.owner !== owner)
  demand(!left, 4, () => `a hold was left behind: ${say(left)}`)
}

/** Nothing is missing, and nothing is there that nobody asked for. */
export function checkState(model: Model, found: Found): void {
  checkEntries(model, found)
  checkUsage(model, found)
  checkHolds(model, found)
  checkAccounts(model, found)
  checkKeys(model, found)
  const { prices } = found.totals
  demand(prices === BigInt(model.priceVersions), 8, () => `${prices} prices instead of ${model.priceVersions}`)
}

function checkEntries({ newEntries }: Model, { entries }: Found): void {
  const expected = new Map(newEntries.map(entry => [`${entry.accountId}/${entry.seq}`, entry]))
  for (const row of entries) {
    const place = `${row.account_id}/${row.seq}`
    const entry = expected.get(place)
    expected.delete(place)
    const promise = row.kind === 'charge' ? 5 : 1
    demand(entry !== undefined, promise, () => `nobody asked for entry ${entryLine(row)}`)
    const [due, there] = [modelEntryLine(entry), entryLine(row)]
    demand(due === there, promise, () => `entry ${place}\n  should be: ${due}\n  is:        ${there}`)
  }
  const [missing] = expected.values()
  const promise = missing?.kind === 'charge' ? 3 : 1
  demand(!missing, promise, () => `there is no entry ${missing && modelEntryLine(missing)}`)
}

function checkUsage({ newUsage, recorded }: Model, { usage, totals }: Found): void {
  const expected = new Map(newUsage.map(row => [row.requestId, modelUsageLine(row)]))
  for (const row of usage) {
    const [due, there] = [expected.get(row.request_id), usageLine(row)]
    expected.delete(row.request_id)
    demand(due === there, 4, () => `record of ${row.request_id}\n  should be: ${due}\n  is:        ${there}`)
  }
  const [missing] = expected.values()
  demand(!missing, 4, () => `there is no record ${missing}`)
  demand(totals.usage === BigInt(recorded.size), 4, () => `${totals.usage} records instead of ${recorded.size}`)
}

function checkHolds({ holds: expected }: Model, { holds }: Found): void {
  for (const row of holds) {
    const hold = expected.get(row.request_id)
    demand(hold !== undefined, 4, () => `nobody holds ${say(row)}`)
    const isSame = row.amount === hold.amount && row.account_id === hold.accountId && row.key_id === hold.keyId
    demand(isSame, 2, () => `the hold should be ${say(hold)}, is ${say(row)}`)
    const isOwned = row.owner === hold.owner && Number(row.expires_at) >= hold.heardAt + TEND_MS
    demand(isOwned, 4, () => `the lease should be ${say(hold)}, is ${say(row)}`)
  }
  demand(holds.length === expected.size, 2, () => `${holds.length} holds instead of ${expected.size}`)
}

function checkAccounts(model: Model, { accounts }: Found): void {
  demand(accounts.length === model.accounts.size, 'answers', () => `there are the accounts ${say(accounts)}`)
  for (const row of accounts) {
    const account = model.accounts.get(row.id)
    demand(account !== undefined, 'answers', () => `nobody created account ${say(row)}`)
    const isSame = account.balance === row.balance && account.held === row.held && account.spent === row.spent
    demand(isSame, 1, () => `account ${row.id} should be ${say(account)}, is ${say(row)}`)
    const isCovered = row.balance >= row.held || account.mayBeShort
    demand(isCovered, 2, () => `more is held than there is: ${say(row)}`)
  }
}

function checkKeys(model: Model, { keys }: Found): void {
  demand(keys.length === model.keys.size, 'answers', () => `there are the keys ${say(keys)}`)
  for (const row of keys) {
    const key = model.keys.get(row.id)
    demand(key !== undefined, 'answers', () => `nobody created key ${say(row)}`)
    const differs = () => `key ${row.id} should be ${say(key)}, is ${say(row)}`
    demand(key.spent === row.spent && key.held === row.held, 1, differs)
    const isInForce = key.isEnabled === (row.enabled === 1n) && key.isRevoked === (row.revoked_at !== null)
    demand(isInForce && key.cap === (row.cap ?? undefined), 'answers', differs)
    const isCovered = row.cap === null || row.cap >= row.spent + row.held || key.mayBeShort
    demand(isCovered, 2, () => `more is held than the cap allows: ${say(row)}`)
  }
}

// ── lines to compare, and to read ───────────────────────────────────────────────────────────────────────────────────

function entryLine(row: EntryRow): string {
  const { kind, amount, balance, source } = row
  const tokens = [row.input, row.cache_read, row.cache_write, row.output].join('/')
  return `${kind} of ${amount} to ${balance}, source ${source}, key ${row.key_id}, tokens ${tokens} at ${row.price_id}`
}

function modelEntryLine({ kind, amount, balance, source, charged }: ModelEntry): string {
  const { input, cacheRead, cacheWrite, output } = charged?.usage ?? {}
  const tokens = [input, cacheRead, cacheWrite, output].join('/')
  const [keyId, priceId] = [charged?.keyId ?? null, charged?.priceId ?? null]
  return `${kind} of ${amount} to ${balance}, source ${source}, key ${keyId}, tokens ${tokens} at ${priceId}`
}

function usageLine(row: FoundUsage): string {
  const tokens = [row.input, row.cache_read, row.cache_write, row.output, row.reasoning].join('/')
  return `${row.status} of ${row.account_id}, ${row.key_id}: tokens ${tokens} at ${row.price_id}, ${row.cost} of ${row.held}`
}

function modelUsageLine({ status, accountId, keyId, usage, priceId, cost, held }: ModelUsage): string {
  const tokens = [usage.input, usage.cacheRead, usage.cacheWrite, usage.output, usage.reasoning].join('/')
  return `${status} of ${accountId}, ${keyId}: tokens ${tokens} at ${priceId}, ${cost} of ${held}`
}

export const say = (value: unknown): string =>
  JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? `${member}` : member))?.replaceAll('"', '')
