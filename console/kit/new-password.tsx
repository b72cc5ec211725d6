import type { Signal } from '@preact/signals'
import { t } from '../app/language.ts'
import { PasswordField } from './field.tsx'

/** As the server has it. */
export const PASSWORD_CHARACTERS_MIN = 10
/** From here on length alone makes up for plain letters. */
const PASSPHRASE_CHARACTERS_MIN = 20
const CHARACTERS_FAIR = 13

type Strength = 'short' | 'weak' | 'fair' | 'strong'

const BARS: Readonly<Record<Strength, number>> = { short: 1, weak: 2, fair: 3, strong: 4 }

/** A hint, no gate: length first, then how many kinds of characters, less for what repeats. */
export function strengthOf(password: string, name = ''): Strength {
  if (password.length < PASSWORD_CHARACTERS_MIN) return 'short'
  const different = new Set(password.toLowerCase()).size
  const hasName = name.length > 2 && password.toLowerCase().includes(name.toLowerCase())
  if (different < 6 || hasName || /^(.{1,5})\1+$/.test(password) || /12345|qwert|password|passwort/i.test(password))
    return 'weak'
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^a-zA-Z\d]/].filter(kind => kind.test(password)).length
  if (password.length >= PASSPHRASE_CHARACTERS_MIN || (password.length >= CHARACTERS_FAIR && kinds >= 3))
    return 'strong'
  return password.length >= CHARACTERS_FAIR || kinds >= 3 ? 'fair' : 'weak'
}

interface NewPasswordProps {
  readonly value: Signal<string>
  readonly isShown: Signal<boolean>
  readonly label?: string
  readonly error?: string | undefined
  /** Whose password it will be; a password with the name in it is easily guessed. */
  readonly name?: string
  readonly autofocus?: boolean
}

export function NewPassword({
  value,
  isShown,
  label = t().password.new,
  error,
  name,
  autofocus = false,
}: NewPasswordProps) {
  const strength = strengthOf(value.value, name)
  return (
    <div class="stack tight">
      <PasswordField
        label={label}
        hint={t().password.rule(PASSWORD_CHARACTERS_MIN)}
        error={error}
        value={value}
        isShown={isShown}
        autofocus={autofocus}
        autoComplete="new-password"
      />
      {value.value !== '' && (
        <div class={`strength ${strength}`} role="status">
          <span class="strength-bars" aria-hidden="true">
            {[1, 2, 3, 4].map(bar => (
              <span key={bar} class={bar <= BARS[strength] ? 'is-on' : undefined} />
            ))}
          </span>
          <span>
            <span class="hidden-text">{t().password.strength}: </span>
            {t().password.levels[strength]}
          </span>
        </div>
      )}
    </div>
  )
}
