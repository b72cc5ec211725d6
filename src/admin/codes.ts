import { z } from 'zod'
import {
  type Claim,
  CODES_MAX,
  type Code,
  type Codes,
  hintOf,
  newCodeId,
  newCodeText,
  readCode,
} from '../core/codes.ts'
import type { Directory } from '../core/directory.ts'
import { formatDollars, ZERO } from '../core/money.ts'
import type { Sealer } from '../core/seal.ts'
import type { Redemption, Redemptions } from '../ledger/redemptions.ts'
import { viewAccount, viewEntry } from './accounts.ts'
import type { Attempts } from './attempts.ts'
import { chosenAccount } from './chosen-account.ts'
import { list } from './contract/common.ts'
import { CodeView, DepositView, NewCodeView } from './contract.ts'
import { AdminError, conflict, notFound, unprocessable } from './failure.ts'
import { dollars, instant, read, readPage, text } from './input.ts'
import { type Actor, created, done, ok, PAGED, type Routes } from './route.ts'

export interface CodesDeps {
  readonly codes: Codes
  readonly redemptions: Redemptions
  /** Redemptions that failed, by the member who tried. */
  readonly redeeming: Attempts
  readonly directory: Directory
  readonly sealer: Sealer
  readonly clock: () => number
}

const NEW_CODES = z.strictObject({
  amount: dollars.refine(amount => amount > ZERO, 'must be above zero'),
  count: z.int().min(1, 'must be at least 1').max(CODES_MAX, `must be at most ${CODES_MAX}`).default(1),
  note: text.trim().max(1000).nullish(),
  expires_at: instant.nullish(),
})

const REDEEMED_CODE = z.strictObject({ code: text.max(200), account: text.min(1).optional() })

async function createCodes(body: unknown, { codes, sealer, clock }: CodesDeps) {
  const { amount, count, note, expires_at } = read(NEW_CODES, body)
  const now = clock()
  if (expires_at && expires_at <= now) throw unprocessable('expires_at: must be in the future', 'expires_at')
  const common = { amount, note: note || undefined, createdAt: now, expiresAt: expires_at ?? undefined }
  const texts = Array.from({ length: count }, newCodeText)
  const rows = await codes.create(
    texts.map(code => ({ id: newCodeId(), hint: hintOf(code), codeHash: hashOf(code, sealer), ...common })),
  )
  return { data: rows.map((row, place) => ({ ...viewCode(row), code: texts[place] })), next: null }
}

/** All that is kept of a code. */
function hashOf(typed: string, sealer: Sealer): string {
  const code = readCode(typed)
  if (code === undefined) throw unprocessable('code: must look like duet-XXXX-XXXX-XXXX-XXXX', 'code')
  return sealer.sign(`code ${code}`)
}

async function listCodes(query: URLSearchParams, { codes }: CodesDeps) {
  const { rows, next } = await codes.codes(readPage(query, /^\d{1,15}-\w{1,40}$/))
  return { data: rows.map(viewCode), next: next ?? null }
}

async function revokeCode(id: string, { codes }: CodesDeps): Promise<void> {
  const outcome = await codes.revoke(id)
  if (outcome === 'unknown') throw notFound(`code ${id}`)
  if (outcome === 'redeemed') throw conflict(`code ${id} was redeemed already`, 'id')
}

async function redeem(body: unknown, actor: Actor, deps: CodesDeps): Promise<DepositView> {
  const { directory, sealer, clock } = deps
  const { code, account: wanted } = read(REDEEMED_CODE, body)
  const account = await chosenAccount(wanted, actor, directory)
  const claim = { codeHash: hashOf(code, sealer), accountId: account.id, at: clock() }
  const redemption = await tryToRedeem(claim, actor, deps)
  if (redemption.type === 'refused') throw REFUSALS[redemption.why]()
  if (redemption.type === 'balance-too-large') {
    throw conflict('the balance would be too large: the code is kept for this account until there is room', 'account')
  }
  const after = (await directory.account(account.id)) ?? account
  return { ...viewEntry(redemption.entry), account: viewAccount(after) }
}

async function tryToRedeem(claim: Claim, { role, user }: Actor, deps: CodesDeps): Promise<Redemption> {
  const { redemptions, redeeming } = deps
  // Whoever can make codes need not guess them.
  if (role === 'admin' || !user) return redemptions.redeem(claim)
  await redeeming.begin(user.id)
  const redemption = await redemptions.redeem(claim)
  if (redemption.type !== 'refused') await redeeming.succeeded(user.id)
  return redemption
}

const REFUSALS = {
  unknown: () => new AdminError(404, 'not_found', 'there is no such code', { param: 'code' }),
  redeemed: () => new AdminError(409, 'code_redeemed', 'this code was redeemed already', { param: 'code' }),
  expired: () => new AdminError(409, 'code_expired', 'this code has expired', { param: 'code' }),
}

const isoTime = (time: number | undefined): string | null => (time === undefined ? null : new Date(time).toISOString())

const viewCode = (code: Code): CodeView => ({
  id: code.id,
  hint: code.hint,
  amount: formatDollars(code.amount),
  note: code.note ?? null,
  created_at: new Date(code.createdAt).toISOString(),
  expires_at: isoTime(code.expiresAt),
  redeemed_at: isoTime(code.redeemedAt),
  account: code.accountId ?? null,
  account_name: code.accountName ?? null,
})

export const codeRoutes: Routes<CodesDeps> = {
  'GET /codes': {
    access: 'admin',
    summary: 'Redemption codes, newest first, and who redeemed them',
    query: PAGED,
    answers: { 200: list(CodeView) },
    handle: async ({ call, deps }) => ok(await listCodes(call.query, deps)),
  },
  'POST /codes': {
    access: 'admin',
    summary: 'Make redemption codes; the answer is the only one that has them in full',
    body: NEW_CODES,
    answers: { 201: list(NewCodeView) },
    handle: async ({ json, deps }) => created(await createCodes(await json(), deps)),
  },
  'DELETE /codes/*': {
    access: 'admin',
    summary: 'Take back a code that nobody has redeemed',
    answers: { 204: null },
    errors: [409],
    handle: async ({ ids: [id = ''], deps }) => {
      await revokeCode(id, deps)
      return done
    },
  },
  'POST /codes/redeem': {
    access: 'member',
    summary: 'Put the money of a code on the own account, or, for admins, on the one that is named',
    body: REDEEMED_CODE,
    answers: { 201: DepositView },
    errors: [404, 409, 429],
    handle: async ({ json, actor, deps }) => created(await redeem(await json(), actor, deps)),
  },
}
