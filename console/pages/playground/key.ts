import type { PlaygroundKeyView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'

/** Before it ends by itself, so that a call is not refused on its way. */
const SPARE_MS = 60_000

export interface LentKey extends PlaygroundKeyView {
  /** Made for this very call: what it is refused, the next one would be refused, too. */
  readonly isFresh: boolean
}

interface Held {
  readonly account: string | undefined
  /** A promise, so that two calls at once share one key. */
  readonly key: Promise<PlaygroundKeyView>
}

/** In this page's memory and nowhere else. */
let held: Held | undefined

/** For this account, or for the own one. */
export async function lendKey(account: string | undefined): Promise<LentKey> {
  const known = held?.account === account ? await held?.key : undefined
  if (known && Date.parse(known.expires_at) - Date.now() > SPARE_MS) return { ...known, isFresh: false }
  const key = api.post<PlaygroundKeyView>('/playground/key', account === undefined ? {} : { account })
  held = { account, key }
  // One that could not be had must not be remembered.
  key.catch(forgetKey)
  return { ...(await key), isFresh: true }
}

/** Used up, ended elsewhere, or somebody else sits here now: the next call gets another. */
export function forgetKey(): void {
  held = undefined
}
