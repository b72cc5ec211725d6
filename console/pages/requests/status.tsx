import { t } from '../../app/language.ts'
import { Badge, moneyRefusalOf, type Tone } from '../../kit/index.ts'

/** Of those that have a short word; others are shown by their code. */
export const CODES = [
  'insufficient_user_quota',
  'pre_consume_token_quota_failed',
  'rate_limited',
  'client_gone',
  'model_not_found',
  'model_not_allowed',
  'model_price_unknown',
  'invalid_request',
  'upstream_error',
  'upstream_timeout',
  'upstream_rate_limited',
  'upstream_auth_failed',
  'upstream_invalid_request',
  'upstream_unavailable',
  'ledger_unavailable',
  'shutting_down',
  'internal_error',
  'interrupted',
] as const

export const statusText = (status: string): string =>
  (t().requests.statuses as Readonly<Record<string, string>>)[status] ?? status

/** A model of the catalog that nobody serves; of a name that nobody knows the record has none. */
export const isUnserved = (status: string, model: string): boolean => status === 'model_not_found' && model !== ''

function toneOf(status: string): Tone {
  if (status === 'ok') return 'good'
  if (status === 'client_gone') return 'neutral'
  return moneyRefusalOf(status) ? 'warn' : 'bad'
}

interface RequestStatusProps {
  readonly status: string
  /** That was asked for, where it is known. */
  readonly model?: string
}

export function RequestStatus({ status, model = '' }: RequestStatusProps) {
  return (
    <Badge tone={toneOf(status)} hasDot title={status}>
      {isUnserved(status, model) ? t().requests.unserved : statusText(status)}
    </Badge>
  )
}
