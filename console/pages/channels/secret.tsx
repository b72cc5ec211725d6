import { type Signal, useSignal } from '@preact/signals'
import type { InputHTMLAttributes } from 'preact'
import { t } from '../../app/language.ts'
import { Field, IconButton } from '../../kit/index.ts'

interface SecretFieldProps {
  readonly label: string
  readonly hint?: string
  readonly error?: string | undefined
  readonly value: Signal<string>
  readonly isAutofocused?: boolean
  readonly onRemove?: () => void
}

/** A vendor's credential on its way in. It is never filled from anywhere: what was stored cannot be read again. */
export function SecretField({ label, hint, error, value, isAutofocused = false, onRemove }: SecretFieldProps) {
  const isShown = useSignal(false)
  return (
    <Field label={label} hint={hint} error={error}>
      {wiring => (
        <div class="input-frame">
          <input
            {...({ type: isShown.value ? 'text' : 'password' } as InputHTMLAttributes<HTMLInputElement>)}
            {...wiring}
            autofocus={isAutofocused}
            autoComplete="off"
            // What looks like a password is offered to be remembered; this one is not the visitor's.
            data-1p-ignore=""
            data-lpignore="true"
            spellcheck={false}
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
          {onRemove && <IconButton icon="close" label={t().common.remove} onClick={onRemove} />}
        </div>
      )}
    </Field>
  )
}
