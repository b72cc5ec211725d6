import { useSignal } from '@preact/signals'
import { ApiError, api } from '../../app/api.ts'
import { t } from '../../app/language.ts'
import { session } from '../../app/session.ts'
import { toast } from '../../app/toasts.tsx'
import { Button, Card, Form, PasswordField, Section, useSubmit } from '../../kit/index.ts'
import { NewPassword, PASSWORD_CHARACTERS_MIN } from '../../kit/new-password.tsx'

export function Password() {
  const current = useSignal('')
  const next = useSignal('')
  const isShown = useSignal(false)
  const texts = t().settings

  const form = useSubmit(async () => {
    if (current.value === '') return form.refuse('current', texts.currentMissing)
    if (next.value.length < PASSWORD_CHARACTERS_MIN) {
      return form.refuse('password', texts.tooShort(PASSWORD_CHARACTERS_MIN))
    }
    await api.put('/session/password', { current: current.value, password: next.value }).catch(inOurWords)
    current.value = ''
    next.value = ''
    isShown.value = false
    toast(texts.changed)
  })
  return (
    <Section title={texts.password} text={texts.passwordText}>
      <Card>
        <div class="settings-password">
          <Form submission={form} fields={['current', 'password']}>
            <input
              type="text"
              class="hidden-text"
              autoComplete="username"
              value={session.value?.user?.name ?? ''}
              readOnly
              tabIndex={-1}
              aria-hidden="true"
            />
            <PasswordField
              label={texts.current}
              value={current}
              error={form.errorOf('current')}
              isShown={isShown}
              autoComplete="current-password"
            />
            <NewPassword
              value={next}
              isShown={isShown}
              error={form.errorOf('password')}
              name={session.value?.user?.name ?? ''}
            />
            <div class="row">
              <Button type="submit" kind="primary" isBusy={form.isBusy}>
                {texts.change}
              </Button>
            </div>
          </Form>
        </div>
      </Card>
    </Section>
  )
}

function inOurWords(error: unknown): never {
  if (!(error instanceof ApiError) || error.code !== 'wrong_password') throw error
  throw new ApiError({ status: error.status, code: error.code, message: t().settings.wrongPassword, param: 'current' })
}
