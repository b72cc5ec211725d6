import type { KeyView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { Badge, type Tone } from '../../kit/index.ts'

const TONES: Readonly<Record<KeyView['status'], Tone>> = {
  active: 'good',
  'cap-reached': 'bad',
  expired: 'neutral',
  disabled: 'neutral',
}

export const STATUSES: readonly KeyView['status'][] = ['active', 'cap-reached', 'expired', 'disabled']

export function KeyStatus({ status }: { readonly status: KeyView['status'] }) {
  return (
    <Badge tone={TONES[status]} hasDot title={t().keys.statusTitle[status]}>
      {t().keys.status[status]}
    </Badge>
  )
}
