import { type Signal, useSignal } from '@preact/signals'
import type { KeyView } from '../../../src/admin/contract.ts'
import { number } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { type Submission, TextField } from '../../kit/index.ts'

/** How often a key may call, as fields: for a new key and for one that is changed. */

const MAX = { max_concurrent: 10_000, max_per_minute: 1_000_000 } as const
type Limit = keyof typeof MAX

export const PACE_FIELDS: readonly Limit[] = ['max_concurrent', 'max_per_minute']

/** What was typed; nothing for no limit. */
export type Pace = Readonly<Record<Limit, Signal<string>>>

export function usePace(key?: KeyView): Pace {
  return {
    max_concurrent: useSignal(String(key?.max_concurrent ?? '')),
    max_per_minute: useSignal(String(key?.max_per_minute ?? '')),
  }
}

/** As the API wants it; undefined where something else than a number was typed, which is said beside it. */
export function readPace(
  pace: Pace,
  form: Pick<Submission, 'refuse'>,
): Readonly<Record<Limit, number | null>> | undefined {
  const [concurrent, perMinute] = [readLimit('max_concurrent', pace), readLimit('max_per_minute', pace)]
  if (concurrent === undefined) form.refuse('max_concurrent', problemOf('max_concurrent'))
  if (perMinute === undefined) form.refuse('max_per_minute', problemOf('max_per_minute'))
  if (concurrent === undefined || perMinute === undefined) return undefined
  return { max_concurrent: concurrent, max_per_minute: perMinute }
}

function readLimit(limit: Limit, pace: Pace): number | null | undefined {
  const typed = pace[limit].value.trim()
  if (typed === '') return null
  return /^[1-9]\d{0,6}$/.test(typed) && Number(typed) <= MAX[limit] ? Number(typed) : undefined
}

const problemOf = (limit: Limit): string => t().keys.paceWrong(number(MAX[limit]))

export const isPaceOf = (pace: Pace, key: KeyView): boolean =>
  PACE_FIELDS.every(limit => pace[limit].value.trim() === String(key[limit] ?? ''))

export function PaceFields({ pace, form }: { readonly pace: Pace; readonly form: Pick<Submission, 'errorOf'> }) {
  const texts = t().keys
  return (
    <div class="keys-pace">
      {PACE_FIELDS.map(limit => (
        <TextField
          key={limit}
          label={texts.pace[limit]}
          placeholder={texts.paceNone}
          inputMode="numeric"
          autoComplete="off"
          value={pace[limit]}
          error={form.errorOf(limit)}
        />
      ))}
      <p class="field-hint">{texts.paceHint}</p>
    </div>
  )
}
