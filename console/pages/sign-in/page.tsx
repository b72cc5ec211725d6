import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { SessionView } from '../../../src/admin/contract.ts'
import { ApiError, api } from '../../app/api.ts'
import { Gate } from '../../app/gate.tsx'
import { t } from '../../app/language.ts'
import { go, query } from '../../app/router.ts'
import { enter, nextPath, session } from '../../app/session.ts'
import { Button, Code, Form, PageHeader, PasswordField, TextField, useSubmit } from '../../kit/index.ts'

export function Page() {
  const name = useSignal('')
  const password = useSignal('')
  const isShown = useSignal(false)
  const texts = t().signIn

  // Whoever is signed in already, in another tab, has nothing to do here.
  useEffect(() => {
    if (session.value === null) return
    const leaving = new AbortController()
    api.get<SessionView>('/session', {}, leaving.signal).then(arrive, () => undefined)
    return () => leaving.abort()
  }, [])

  const form = useSubmit(async () => {
    if (name.value.trim() === '') return form.refuse('name', texts.nameMissing)
    if (password.value === '') return form.refuse('password', texts.passwordMissing)
    const wanted = { name: name.value.trim(), password: password.value }
    arrive(await api.post<SessionView>('/session', wanted).catch(inOurWords))
  })
  return (
    <Gate>
      <PageHeader title={texts.title} text={query.value.has('next') ? texts.ended : undefined} />
      <Form submission={form} fields={['name', 'password']}>
        <TextField
          label={t().common.name}
          value={name}
          error={form.errorOf('name')}
          name="username"
          autoComplete="username"
          spellcheck={false}
          autofocus
        />
        <PasswordField
          label={texts.password}
          value={password}
          error={form.errorOf('password')}
          isShown={isShown}
          autoComplete="current-password"
        />
        <Button type="submit" kind="primary" isBusy={form.isBusy}>
          {texts.submit}
        </Button>
      </Form>
      <details class="gate-help">
        <summary>{texts.lostTitle}</summary>
        <p>{texts.lost}</p>
        <Code label={texts.lostTitle} text="duet users reset NAME" />
      </details>
    </Gate>
  )
}

function arrive(session: SessionView): void {
  enter(session)
  go(nextPath(), { replace: true })
}

function inOurWords(error: unknown): never {
  if (!(error instanceof ApiError) || error.code !== 'invalid_login') throw error
  throw new ApiError({ status: error.status, code: error.code, message: t().signIn.wrong })
}
