import type { KeyView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { add, compare } from '../../app/decimal.ts'
import { money } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { pathTo } from '../../app/router.ts'
import { toast, toastError } from '../../app/toasts.tsx'
import { confirm } from '../../kit/index.ts'

/** What a key's row, menu and panel can do to it; the list and the panel hear of the result. */
export interface KeyChanges {
  changed(key: KeyView): void
  revoked(key: KeyView): void
}

export const RAISES = ['5', '20', '100'] as const

export const patchKey = (id: string, changes: object): Promise<KeyView> =>
  api.patch<KeyView>(pathTo('keys', id), changes)

/** On top of what is spent already, if that is more than the cap: a raise that does not help is none. */
export function raisedBy({ cap, spent }: KeyView, amount: string): string {
  const from = cap === null || compare(spent, cap) > 0 ? spent : cap
  return add(from, amount)
}

/** With a way back. */
export async function setCap(key: KeyView, cap: string | null, changes: KeyChanges): Promise<void> {
  try {
    changes.changed(await patchKey(key.id, { cap }))
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
    toast(texts.revoked(key.name))
  } catch (error) {
    toastError(error)
  }
}
