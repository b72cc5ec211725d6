import { useSignal } from '@preact/signals'
import type { InviteView, SessionView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { go } from '../../app/router.ts'
import { enter } from '../../app/session.ts'
import { Button, Form, PageHeader, TextField, Time, useSubmit } from '../../kit/index.ts'
import { NewPassword, PASSWORD_CHARACTERS_MIN } from '../../kit/new-password.tsx'

interface AcceptProps {
  readonly invite: InviteView
  readonly accept: (wanted: { readonly name?: string; readonly password: string }) => Promise<SessionView>
}

const NAME_CHARACTERS_MAX = 64

export function Accept({ invite, accept }: AcceptProps) {
  const isReset = invite.kind === 'reset'
  const name = useSignal(invite.user ?? '')
  const password = useSignal('')
  // Nobody types a new password twice who can see it; seen it is typed right.
  const isShown = useSignal(false)
  const texts = t().welcome

  const form = useSubmit(async () => {
    const isNamed = isReset || name.value.trim() !== ''
    if (!isNamed) form.refuse('name', texts.nameMissing)
    const isLong = password.value.length >= PASSWORD_CHARACTERS_MIN
    if (!isLong) form.refuse('password', texts.tooShort(PASSWORD_CHARACTERS_MIN))
    if (!isNamed || !isLong) return
    const session = await accept({ password: password.value, ...(isReset ? {} : { name: name.value.trim() }) })
    enter(session)
    go('/', { replace: true })
  })
  return (
    <>
      <PageHeader title={titleOf(invite)} text={textOf(invite)} />
      <Form submission={form} fields={['name', 'password']}>
        {isReset ? (
          // Lets password managers know whose it is.
          <input
            type="text"
            class="hidden-text"
            autoComplete="username"
            value={name}
            readOnly
            tabIndex={-1}
            aria-hidden="true"
          />
        ) : (
          <TextField
            label={texts.name}
            hint={texts.nameHint}
            error={form.errorOf('name')}
            value={name}
            name="username"
            autoComplete="username"
            spellcheck={false}
            maxLength={NAME_CHARACTERS_MAX}
            autofocus
          />
        )}
        <NewPassword
          value={password}
          isShown={isShown}
          error={form.errorOf('password')}
          name={name.value}
          autofocus={isReset}
          {...(isReset ? {} : { label: t().signIn.password })}
        />
        <Button type="submit" kind="primary" isBusy={form.isBusy}>
          {submitOf(invite)}
        </Button>
      </Form>
      <p class="gate-note">
        {texts.expires} <Time at={invite.expires_at} />
      </p>
    </>
  )
}

function titleOf({ kind }: InviteView): string {
  const { firstTitle, inviteTitle, resetTitle } = t().welcome
  return { first: firstTitle, invite: inviteTitle, reset: resetTitle }[kind]
}

function textOf({ kind, role, account_name, user }: InviteView): string {
  const texts = t().welcome
  if (kind === 'first') return texts.firstText
  if (kind === 'reset') return texts.resetText(user ?? '')
  const account = account_name === null ? texts.inviteOwnAccount : texts.inviteAccount(account_name)
  return role === 'admin' ? `${texts.inviteAdmin} ${account}` : account
}

function submitOf({ kind }: InviteView): string {
  const { submitFirst, submitInvite, submitReset } = t().welcome
  return { first: submitFirst, invite: submitInvite, reset: submitReset }[kind]
}
