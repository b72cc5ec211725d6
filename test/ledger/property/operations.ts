import { GatewayError } from '../../../src/core/failure.ts'
import type { Closing, Deposit, Extension, HoldRequest, Refusal } from '../../../src/core/ledger.ts'
import { type Nanos, nanos } from '../../../src/core/money.ts'
import type { Price } from '../../../src/core/price.ts'
import { DatabaseFailed } from './crashing-database.ts'
import type { Life } from './life.ts'

/** Everything that happens to a ledger, as the model applies it: one after another. */
export type Operation =
  | { readonly type: 'hold'; readonly request: HoldRequest }
  | { readonly type: 'extend'; readonly extension: Extension; readonly at: number }
  | { readonly type: 'settle'; readonly closing: Closing }
  | { readonly type: 'refuse'; readonly refusal: Refusal }
  | { readonly type: 'deposit'; readonly deposit: Deposit }
  | { readonly type: 'renew'; readonly at: number }
  | { readonly type: 'recover' }
  | { readonly type: 'cap'; readonly keyId: string; readonly cap: Nanos | undefined }
  | { readonly type: 'enable'; readonly keyId: string; readonly enabled: boolean }
  | { readonly type: 'revoke'; readonly keyId: string; readonly at: number }
  | { readonly type: 'key'; readonly keyId: string; readonly accountId: string; readonly at: number }
  | { readonly type: 'publish'; readonly model: string; readonly price: Price; readonly at: number }

/** What the test asks for: to tend is to renew, to settle what is overdue, and to recover. */
export type Question = Exclude<Operation, { type: 'renew' }> | { readonly type: 'tend'; readonly at: number }

/** A question, and the one that follows in the moment its answer comes. */
export interface Submission {
  readonly question: Question
  readonly next?: Submission
}

/** The answer of an operation that the ledger could not write. */
export const UNAVAILABLE = 'unavailable'

export const secretHashOf = (keyId: string): string => `hash of ${keyId}`

type Asked = Pick<Life, 'ledger' | 'directory' | 'prices'>

/** Answers are texts: they compare easily, and a failed comparison can be read. */
export async function ask(question: Question, { ledger, directory, prices }: Asked): Promise<string> {
  try {
    switch (question.type) {
      case 'hold':
        return held((await ledger.hold(question.request)).amount)
      case 'extend':
        return held(await ledger.extend(question.extension))
      case 'settle': {
        const { cost, balance, keyRemaining } = await ledger.settle(question.closing)
        return settled(cost, balance, keyRemaining)
      }
      case 'refuse':
        await ledger.refuse(question.refusal)
        return RECORDED
      case 'deposit': {
        const outcome = await ledger.deposit(question.deposit)
        return outcome.type === 'deposited' ? deposited(outcome.applied, outcome.entry) : outcome.type
      }
      case 'tend': {
        const { recovered, overdue } = await ledger.tend()
        await directory.keepLastUsed()
        return overdue > 0 ? `${overdue} are overdue` : released(recovered)
      }
      case 'recover':
        return released(await ledger.recover())
      case 'cap': {
        const key = await directory.changeKey(question.keyId, { cap: question.cap })
        return key ? capped(key.cap) : NO_KEY
      }
      case 'enable': {
        const key = await directory.changeKey(question.keyId, { enabled: question.enabled })
        return key ? enabled(key.enabled) : NO_KEY
      }
      case 'revoke':
        return (await directory.revokeKey(question.keyId, question.at)) ? REVOKED : NO_KEY
      case 'key':
        await directory.createKey(newKey(question))
        return CREATED
      case 'publish': {
        const { model, price, at } = question
        const version = (await prices.publish([{ model, price }], at)).get(model)
        return published(version?.id, version?.version)
      }
    }
  } catch (error) {
    return refusal(error)
  }
}

export const newKey = ({ keyId, accountId, at }: { keyId: string; accountId: string; at: number }) => ({
  ...{ id: keyId, accountId, name: keyId, secretHash: secretHashOf(keyId), hint: 'none', createdAt: at },
  ...{ cap: undefined, models: undefined, expiresAt: undefined },
})

// ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export const NO_ACCOUNT = 'no-account'
export const TOO_LARGE = 'balance-too-large'
export const KEY_UNUSABLE = 'credential-invalid'
export const NO_KEY = 'no such key'
export const RENEWED = 'renewed'
export const RECORDED = 'recorded'
export const REVOKED = 'revoked'
export const CREATED = 'created'
export const held = (amount: bigint | undefined): string => (amount === undefined ? 'no more' : `held ${amount}`)
export const balanceEmpty = (balance: bigint): string => `balance-empty ${balance}`
export const balanceTooLow = (left: bigint, needed: bigint): string => `balance-too-low ${left}, needs ${needed}`
export const capReached = (left: bigint, needed: bigint): string => `cap-reached ${left}, needs ${needed}`
export const released = (holds: number): string => `released ${holds}`
export const capped = (cap: bigint | undefined): string => `cap ${cap ?? 'removed'}`
export const enabled = (isEnabled: boolean): string => (isEnabled ? 'enabled' : 'disabled')
export const published = (id?: number, version?: number): string => `price ${id}, version ${version}`

export const settled = (cost: bigint, balance: bigint, remaining: bigint | undefined): string =>
  `settled ${cost}, balance ${balance}, remaining ${remaining ?? 'unlimited'}`

export const deposited = (applied: boolean, entry: { seq: number; amount: bigint; balance: bigint }): string =>
  `${applied ? 'applied' : 'known'} as ${entry.seq}: ${entry.amount}, balance ${entry.balance}`

function refusal(error: unknown): string {
  if (error instanceof DatabaseFailed) return UNAVAILABLE
  if (!(error instanceof GatewayError)) return `failed: ${error}`
  const { failure } = error
  switch (failure.kind) {
    case 'balance-empty':
      return balanceEmpty(failure.balance)
    case 'balance-too-low':
      return balanceTooLow(failure.balance, failure.needed)
    case 'cap-reached':
      return capReached(failure.remaining, failure.needed)
    case 'credential-invalid':
      return KEY_UNUSABLE
    case 'ledger-unavailable':
      return UNAVAILABLE
    default:
      return `failed: ${failure.kind}`
  }
}

/** For messages: what was done, in one line. */
export function describe(operation: Operation): string {
  const said = JSON.stringify(operation, (_, value) => (typeof value === 'bigint' ? `${value}` : value))
  return said.replaceAll('"', '')
}

export const asNanos = (amount: bigint): Nanos => nanos(amount)
