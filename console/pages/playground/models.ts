import type { ModelView } from '../../../src/admin/contract.ts'
import { isAdmin } from '../../app/session.ts'
import { keptLane } from './draft.ts'

/** Only admins are told who serves what. */
export const isUnserved = ({ channels }: ModelView): boolean => isAdmin.value && channels.length === 0

/** The one that was chosen last, or else a good one; but one that answers, if there is any. */
export function firstModel(models: readonly ModelView[]): string {
  const served = models.filter(model => !isUnserved(model))
  const last = keptLane()?.model
  const first = served.find(({ id }) => id === last) ?? served.find(({ recommended }) => recommended) ?? served[0]
  return (first ?? models[0])?.id ?? ''
}
