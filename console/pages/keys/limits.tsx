import { type Signal, useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import type { KeyView, List, ModelView } from '../../../src/admin/contract.ts'
import { dateTime } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { useResource } from '../../app/resource.ts'
import { Icon, Segments, Skeleton, TextField } from '../../kit/index.ts'

/** What a key may do and until when, as fields: for a new key and for one that is changed. */

const EXPIRY_DAYS = { month: 30, quarter: 90 } as const
type Expiry = 'never' | keyof typeof EXPIRY_DAYS | 'date'

const DAY_MS = 86_400_000

export interface Limits {
  readonly expiry: Signal<Expiry>
  /** `2026-12-31`, in the reader's time zone. */
  readonly date: Signal<string>
  readonly isRestricted: Signal<boolean>
  readonly models: Signal<readonly string[]>
}

export function useLimits(key?: KeyView): Limits {
  return {
    expiry: useSignal<Expiry>(key?.expires_at ? 'date' : 'never'),
    date: useSignal(key?.expires_at ? localDay(new Date(key.expires_at)) : ''),
    isRestricted: useSignal(key !== undefined && key.models !== null),
    models: useSignal<readonly string[]>(key?.models ?? []),
  }
}

/** As the API wants it; undefined for a date that is missing or over. */
export function readExpiry({ expiry, date }: Limits): string | null | undefined {
  if (expiry.value === 'never') return null
  if (expiry.value !== 'date') return new Date(Date.now() + EXPIRY_DAYS[expiry.value] * DAY_MS).toISOString()
  const end = new Date(`${date.value}T23:59:59.999`)
  return end.getTime() > Date.now() ? end.toISOString() : undefined
}

/** As the API wants it; undefined where some were wanted and none chosen. */
export function readModels({ isRestricted, models }: Limits): readonly string[] | null | undefined {
  if (!isRestricted.value) return null
  return models.value.length > 0 ? models.value : undefined
}

function localDay(at: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
}

interface LimitFieldProps {
  readonly limits: Limits
  readonly error: string | undefined
}

interface ExpiryFieldProps extends LimitFieldProps {
  /** The instant that is meant: of a key that expires already it need not be the end of a day. */
  readonly end: string | null | undefined
}

export function ExpiryField({ limits: { expiry, date }, error, end }: ExpiryFieldProps) {
  const texts = t().keys
  // Who asks for a date wants to type one; who opens a key that has one does not.
  const isChosenNow = useSignal(false)
  return (
    <div class="field">
      <span class="keys-label" aria-hidden="true">
        {texts.expiry}
      </span>
      <div class="row">
        <Segments
          label={texts.expiry}
          value={expiry.value}
          onChange={value => {
            expiry.value = value
            isChosenNow.value = true
          }}
          options={[
            { value: 'never', label: texts.expiryNever },
            { value: 'month', label: texts.expiryDays(EXPIRY_DAYS.month) },
            { value: 'quarter', label: texts.expiryDays(EXPIRY_DAYS.quarter) },
            { value: 'date', label: texts.expiryDate },
          ]}
        />
      </div>
      {expiry.value === 'date' ? (
        <TextField
          type="date"
          label={texts.expiryDateLabel}
          value={date}
          min={localDay(new Date())}
          error={error}
          autofocus={isChosenNow.value}
        />
      ) : (
        error && (
          <p class="field-error" role="alert">
            {error}
          </p>
        )
      )}
      {end && <p class="field-hint">{texts.expiryEnd(dateTime(end))}</p>}
    </div>
  )
}

export function ModelsField({ limits: { isRestricted, models }, error }: LimitFieldProps) {
  const texts = t().keys
  return (
    <div class="field">
      <span class="keys-label" aria-hidden="true">
        {texts.models}
      </span>
      <div class="row">
        <Segments
          label={texts.models}
          value={isRestricted.value ? 'some' : 'all'}
          onChange={value => {
            isRestricted.value = value === 'some'
          }}
          options={[
            { value: 'all', label: texts.modelsAll },
            { value: 'some', label: texts.modelsSome },
          ]}
        />
        {isRestricted.value && <span class="faint small">{texts.modelsChosen(models.value.length)}</span>}
      </div>
      {isRestricted.value && <ModelPicker chosen={models} />}
      {error && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
    </div>
  )
}

function ModelPicker({ chosen }: { readonly chosen: Signal<readonly string[]> }) {
  const texts = t().keys
  const catalog = useResource<List<ModelView>>('/models')
  const typed = useSignal('')
  const id = useId()
  const known = catalog.data?.data.filter(({ enabled }) => enabled) ?? []
  const gone = catalog.data ? chosen.value.filter(model => !known.some(({ id }) => id === model)) : []
  const all = [...known, ...gone.map(id => ({ id, name: texts.modelGone }))]
  const words = typed.value.toLowerCase().split(/\s+/).filter(Boolean)
  const found = all.filter(model => words.every(word => `${model.id} ${model.name}`.toLowerCase().includes(word)))
  const toggle = (model: string, isChosen: boolean) => {
    chosen.value = isChosen ? [...chosen.value, model] : chosen.value.filter(other => other !== model)
  }
  return (
    <div class="keys-picker">
      <div class="input-frame">
        <Icon name="search" />
        <input
          type="search"
          aria-label={texts.modelsSearch}
          aria-controls={id}
          placeholder={texts.modelsSearch}
          autoComplete="off"
          spellcheck={false}
          value={typed}
          onInput={event => {
            typed.value = event.currentTarget.value
          }}
          onKeyDown={event => {
            // Enter would send the form; here it means the first that is found.
            if (event.key !== 'Enter') return
            event.preventDefault()
            const [first] = found
            if (first) toggle(first.id, !chosen.value.includes(first.id))
          }}
        />
      </div>
      <ul id={id}>
        {catalog.isLoading && catalog.data === undefined && (
          <li>
            <Skeleton width="60%" />
          </li>
        )}
        {found.map(model => (
          <li key={model.id}>
            <label>
              <input
                type="checkbox"
                checked={chosen.value.includes(model.id)}
                onChange={event => toggle(model.id, event.currentTarget.checked)}
              />
              <code>{model.id}</code>
              <span class="faint small truncate">{model.name}</span>
            </label>
          </li>
        ))}
        {catalog.data && found.length === 0 && <li class="faint small">{texts.modelsNone}</li>}
      </ul>
    </div>
  )
}
