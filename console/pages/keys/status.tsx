import type { KeyView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { Badge, type Tone } from '../../kit/index.ts'
import { roomOf } from './room.ts'

/** As the API says it, and two kinds of active that are not well. */
type ShownStatus = KeyView['status'] | 'cap-near' | 'cap-low'

const TONES: Readonly<Record<ShownStatus, Tone>> = {
  active: 'good',
  'cap-near': 'warn',
  'cap-low': 'bad',
  'cap-reached': 'bad',
  expired: 'neutral',
  disabled: 'neutral',
}

export const STATUSES: readonly ShownStatus[] = ['active', 'cap-near', 'cap-low', 'cap-reached', 'expired', 'disabled']

function shownStatus(key: KeyView): ShownStatus {
  if (key.status !== 'active') return key.status
  const room = roomOf(key)
  if (room === 'near') return 'cap-near'
  return room === 'plenty' ? 'active' : 'cap-low'
}

/** A key that is near its cap is an active one too. */
export const hasStatus = (key: KeyView, status: string): boolean => key.status === status || shownStatus(key) === status

export function KeyStatus({ keyView }: { readonly keyView: KeyView }) {
  const status = shownStatus(keyView)
  return (
    <Badge tone={TONES[status]} hasDot title={t().keys.statusTitle[status]}>
      {t().keys.status[status]}
    </Badge>
  )
}
