import type { Signal } from '@preact/signals'
import type { ComponentChildren, InputHTMLAttributes } from 'preact'
import { useId } from 'preact/hooks'
import { hasUnclearComma } from '../app/decimal.ts'
import { t } from '../app/language.ts'
import { IconButton } from './button.tsx'

interface Described {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly error?: string | undefined
  readonly isOptional?: boolean
}

interface Wiring {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': 'true' | undefined
}

interface FieldProps extends Described {
  /** Gets what ties the control to its label, hint and error. */
  readonly children: (wiring: Wiring) => ComponentChildren
}

/** A control with its label above and what there is to say about it below. */
export function Field({ label, hint, error, isOptional = false, children }: FieldProps) {
  const id = useId()
  const about = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label for={id}>
        {label}
        {isOptional && <span class="optional">{t().common.optional}</span>}
      </label>
      {children({ id, 'aria-describedby': about || undefined, 'aria-invalid': error ? 'true' : undefined })}
      {error && (
        <p class="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
      {hint && (
        <p class="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}

/** Those of `<input>` that a field passes on. */
interface InputAttributes {
  readonly name?: string
  readonly placeholder?: string
  readonly required?: boolean
  readonly disabled?: boolean
  readonly autofocus?: boolean
  readonly autoComplete?: string
  readonly spellcheck?: boolean
  readonly inputMode?: 'text' | 'decimal' | 'numeric' | 'url'
  readonly maxLength?: number
  readonly minLength?: number
  readonly min?: string | number
  readonly max?: string | number
  readonly step?: string | number
}

interface TextFieldProps extends Described, InputAttributes {
  readonly value: Signal<string>
  readonly type?: 'text' | 'email' | 'url' | 'search' | 'number' | 'date' | 'datetime-local'
  /** Before the text, inside the frame: `$`. */
  readonly prefix?: string
  readonly suffix?: string
  readonly onInput?: (value: string) => void
}

export function TextField({
  label,
  hint,
  error,
  isOptional,
  value,
  prefix,
  suffix,
  onInput,
  ...input
}: TextFieldProps) {
  const { type = 'text', ...rest } = input
  return (
    <Field label={label} hint={hint} error={error} {...(isOptional ? { isOptional } : {})}>
      {wiring => (
        <div class="input-frame">
          {prefix && <span aria-hidden="true">{prefix}</span>}
          <input
            {...({ type, ...rest } as InputHTMLAttributes<HTMLInputElement>)}
            {...wiring}
            value={value}
            onInput={event => {
              value.value = event.currentTarget.value
              onInput?.(value.value)
            }}
          />
          {suffix && <span aria-hidden="true">{suffix}</span>}
        </div>
      )}
    </Field>
  )
}

/** An amount in dollars, as text: `readAmount` of decimal.ts makes an exact amount of it. */
export function MoneyField(props: Omit<TextFieldProps, 'type' | 'prefix'>) {
  const error = hasUnclearComma(props.value.value) ? t().common.decimalDot : props.error
  return <TextField inputMode="decimal" autoComplete="off" placeholder="0.00" {...props} error={error} prefix="$" />
}

interface PasswordFieldProps extends Described {
  readonly value: Signal<string>
  readonly isShown: Signal<boolean>
  readonly autoComplete: 'current-password' | 'new-password'
  readonly autofocus?: boolean
  readonly minLength?: number
}

export function PasswordField({ label, hint, error, value, isShown, ...attributes }: PasswordFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {wiring => (
        <div class="input-frame">
          <input
            {...({ ...attributes, type: isShown.value ? 'text' : 'password' } as InputHTMLAttributes<HTMLInputElement>)}
            {...wiring}
            required
            value={value}
            onInput={event => {
              value.value = event.currentTarget.value
            }}
          />
          <IconButton
            icon={isShown.value ? 'hidden' : 'eye'}
            label={isShown.value ? t().common.hide : t().common.show}
            onClick={() => {
              isShown.value = !isShown.value
            }}
          />
        </div>
      )}
    </Field>
  )
}

interface TextAreaFieldProps extends Described {
  readonly value: Signal<string>
  readonly rows?: number
  readonly placeholder?: string
  readonly isCode?: boolean
}

export function TextAreaField({ label, hint, error, isOptional, value, isCode, ...attributes }: TextAreaFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} {...(isOptional ? { isOptional } : {})}>
      {wiring => (
        <textarea
          class={isCode ? 'input mono' : 'input'}
          spellcheck={!isCode}
          {...attributes}
          {...wiring}
          value={value}
          onInput={event => {
            value.value = event.currentTarget.value
          }}
        />
      )}
    </Field>
  )
}

export interface Option<V extends string = string> {
  readonly value: V
  readonly label: string
}

interface SelectFieldProps<V extends string> extends Described {
  readonly value: Signal<V>
  readonly options: readonly Option<V>[]
  readonly onChange?: (value: V) => void
}

export function SelectField<V extends string>({ value, options, onChange, ...described }: SelectFieldProps<V>) {
  return (
    <Field {...described}>
      {wiring => (
        <select
          class="input"
          {...wiring}
          value={value}
          onChange={event => {
            const chosen = options.find(option => option.value === event.currentTarget.value)
            if (!chosen) return
            value.value = chosen.value
            onChange?.(chosen.value)
          }}
        >
          {options.map(option => (
            <option key={option.value} value={option.value} selected={option.value === value.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

interface CheckFieldProps {
  readonly label: ComponentChildren
  readonly hint?: ComponentChildren
  readonly value: Signal<boolean>
  readonly isDisabled?: boolean
  readonly onChange?: (value: boolean) => void
}

function Check({ label, hint, value, isDisabled, onChange, look }: CheckFieldProps & { look: 'check' | 'switch' }) {
  const id = useId()
  return (
    <div class={`check-field ${look}`}>
      <input
        id={id}
        type="checkbox"
        role={look === 'switch' ? 'switch' : undefined}
        checked={value}
        disabled={isDisabled}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={event => {
          value.value = event.currentTarget.checked
          onChange?.(value.value)
        }}
      />
      <div>
        <label for={id}>{label}</label>
        {hint && (
          <p class="field-hint" id={`${id}-hint`}>
            {hint}
          </p>
        )}
      </div>
    </div>
  )
}

export const CheckField = (props: CheckFieldProps) => <Check {...props} look="check" />
/** For what takes effect at once. */
export const SwitchField = (props: CheckFieldProps) => <Check {...props} look="switch" />
