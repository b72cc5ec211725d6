import { z } from 'zod'
import { formatDollars } from '../core/money.ts'
import type { Audit } from '../core/records.ts'
import { type Progress, type Verification, verify } from '../ledger/verify.ts'
import { VerifyProgressView, VerifyView } from './contract.ts'
import { NDJSON } from './ndjson.ts'
import type { AdminCall, AdminReply, Routes } from './route.ts'

export interface VerifyDeps {
  readonly audit: Audit
}

type VerifyCall = Pick<AdminCall, 'accept' | 'signal'>

/** The result alone, or with the progress before it: checking ten million rows takes minutes. */
async function verifyLedger({ accept, signal }: VerifyCall, { audit }: VerifyDeps): Promise<AdminReply> {
  if (accept.includes(NDJSON)) return { status: 200, lines: verifying(audit, signal) }
  return { status: 200, body: viewVerification(await verify(audit, { signal })) }
}

const PROGRESS_MS = 500

async function* verifying(audit: Audit, signal: AbortSignal): AsyncGenerator<VerifyProgressView | VerifyView> {
  let progress: Progress | undefined
  const report = (latest: Progress) => {
    progress = latest
  }
  const verified = verify(audit, { report, signal })
  // A caller who leaves in between ends it, and nobody is there to hear of it.
  verified.catch(() => {})
  for (;;) {
    const result = await Promise.race([verified, Bun.sleep(PROGRESS_MS)])
    if (result) {
      yield viewVerification(result)
      return
    }
    if (progress) yield progress
  }
}

export const viewVerification = ({ problem, openHolds, balance, heads, ...counts }: Verification): VerifyView => ({
  ok: problem === undefined,
  ...counts,
  open_holds: openHolds,
  balance: formatDollars(balance),
  problem: problem ?? null,
  heads: Object.fromEntries(heads),
})

export const ledgerRoutes: Routes<VerifyDeps> = {
  'GET /ledger/verify': {
    access: 'admin',
    summary: 'Compute every charge and every balance again; with `accept: application/x-ndjson`, progress comes first',
    answers: { 200: VerifyView },
    media: { [NDJSON]: z.union([VerifyProgressView, VerifyView]).describe('Each line.') },
    handle: async ({ call, deps }) => verifyLedger(call, deps),
  },
}
