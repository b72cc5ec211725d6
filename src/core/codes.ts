import type { Page, PageRequest } from './directory.ts'
import { newHex } from './ids.ts'
import type { Nanos } from './money.ts'

/** Redemption codes: money in an envelope, for whoever has the code, once. */

/** More at once would not be looked at one by one, and a slip of the finger would cost a fortune. */
export const CODES_MAX = 500

export interface Code {
  readonly id: string
  /** Enough of the code to recognise it, never enough to guess the rest. */
  readonly hint: string
  readonly amount: Nanos
  readonly note: string | undefined
  readonly createdAt: number
  readonly expiresAt: number | undefined
  readonly redeemedAt: number | undefined
  /** Whose balance it went to. */
  readonly accountId: string | undefined
  readonly accountName: string | undefined
}

export type NewCode = Pick<Code, 'id' | 'hint' | 'amount' | 'note' | 'createdAt' | 'expiresAt'> & {
  readonly codeHash: string
}

/** A code that was claimed: its money goes to this account, whatever happens in between. */
export interface ClaimedCode {
  readonly id: string
  readonly hint: string
  readonly amount: Nanos
  readonly accountId: string
  readonly redeemedAt: number
}

export interface Claim {
  readonly codeHash: string
  readonly accountId: string
  readonly at: number
}

export interface Codes {
  /** All of them or none. */
  create(codes: readonly NewCode[]): Promise<readonly Code[]>
  /** Newest first. */
  codes(page: PageRequest): Promise<Page<Code>>
  /** In one step, for one account: whoever comes second finds it redeemed. A claim is never taken back. */
  claim(claim: Claim): Promise<ClaimedCode | 'unknown' | 'redeemed' | 'expired'>
  /** The money has arrived, with this entry. */
  paid(id: string, entrySeq: number): Promise<void>
  /** Claimed, and not known to be paid. */
  unpaid(limit: number): Promise<readonly ClaimedCode[]>
  revoke(id: string): Promise<'revoked' | 'unknown' | 'redeemed'>
}

/** Crockford's base 32: without the letters that are mistaken for digits, and without the U of bad words. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** Five bits each: 80 bits, more than anyone can guess at ten tries in ten minutes. */
const SYMBOLS = 16
const GROUP_SYMBOLS = 4
const PREFIX = 'duet'

/** `duet-7Q2M-X9KD-03VB-HT5W`. */
export function newCodeText(): string {
  const random = crypto.getRandomValues(new Uint8Array(SYMBOLS))
  // The alphabet's length divides 256, so every symbol is equally likely.
  const symbols = [...random].map(byte => ALPHABET[byte % ALPHABET.length]).join('')
  const groups = symbols.match(new RegExp(`.{${GROUP_SYMBOLS}}`, 'g')) ?? []
  return [PREFIX, ...groups].join('-')
}

export const newCodeId = (): string => `rc_${newHex(10)}`

/** The last group: the 60 bits before it stay unknown. */
export const hintOf = (code: string): string => `${PREFIX}-…-${code.slice(-GROUP_SYMBOLS)}`

const TYPED_PREFIX = new RegExp(`^${PREFIX}`, 'i')
const CODE = new RegExp(`^[${ALPHABET}]{${SYMBOLS}}$`)

/** The symbols of a code as somebody typed or pasted it; undefined for what cannot be one. */
export function readCode(typed: string): string | undefined {
  const symbols = typed
    .replace(/[\s\p{Pd}_]/gu, '')
    .replace(TYPED_PREFIX, '')
    .toUpperCase()
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1')
  return CODE.test(symbols) ? symbols : undefined
}
