import type { KeyView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { add, compare } from '../../app/decimal.ts'
import { money } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { go, pathTo } from '../../app/router.ts'
import { toast, toastError } from '../../app/toasts.tsx'
import { confirm } from '../../kit/index.ts'
import { forgetCalls } from './room.ts'

/** What a key's row, menu and panel can do to it; the list and the panel hear of the result. */
export interface KeyChanges {
  changed(key: KeyView): void
  revoked(key: KeyView): void
}

export const RAISES = ['5', '20', '100'] as const

export const patchKey = (id: string, changes: object): Promise<KeyView> =>
  api.patch<KeyView>(pathTo('keys', id), changes)

/** Those that are being raised, and were a moment ago: the second half of a double click is no second wish. */
const raising = new Set<string>()
const DOUBLE_CLICK_MS = 500

export async function raise(key: KeyView, amount: string, changes: KeyChanges): Promise<void> {
  if (raising.has(key.id)) return
  raising.add(key.id)
  const moment = new Promise(resolve => setTimeout(resolve, DOUBLE_CLICK_MS))
  await setCap(key, raisedBy(key, amount), changes)
  await moment
  raising.delete(key.id)
}

/** On top of what is spent already, if that is more than the cap: a raise that does not help is none. */
function raisedBy({ cap, spent }: KeyView, amount: string): string {
  const from = cap === null || compare(spent, cap) > 0 ? spent : cap
  return add(from, amount)
}

/** With a way back. */
export async function setCap(key: KeyView, cap: string | null, changes: KeyChanges): Promise<void> {
  try {
    changes.changed(await patchKey(key.id, { cap }))
    forgetCalls(key.id)
    const text = cap === null ? t().keys.capIsGone : t().keys.capIsNow(money(cap))
    const undo = async () => changes.changed(await patchKey(key.id, { cap: key.cap }))
    toast(text, { action: { label: t().keys.undo, run: () => undo().catch(toastError) } })
  } catch (error) {
    toastError(error)
  }
}

/** True if it is as it was wanted now. */
export async function setEnabled(key: KeyView, enabled: boolean, changes: KeyChanges): Promise<boolean> {
  try {
    changes.changed(await patchKey(key.id, { enabled }))
    toast(enabled ? t().keys.isEnabled : t().keys.isDisabled)
    return true
  } catch (error) {
    toastError(error)
    return false
  }
}

export async function revoke(key: KeyView, changes: KeyChanges): Promise<void> {
  const texts = t().keys
  const isSure = await confirm({
    title: texts.revokeTitle(key.name),
    text: texts.revokeText,
    action: texts.revokeAction,
    isDangerous: true,
    typed: key.name,
  })
  if (!isSure) return
  try {
    await api.delete(pathTo('keys', key.id))
    changes.revoked(key)
    const seeRequests = () => go('/requests', { query: { key: key.id } })
    toast(texts.revoked(key.name), { action: { label: texts.seeRequests, run: seeRequests } })
  } catch (error) {
    toastError(error)
  }
}
