import { useSignal } from '@preact/signals'
import type { NewInviteView, Role } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { t } from '../../app/language.ts'
import { accounts } from '../../app/session.ts'
import { Button, Dialog, Form, SelectField, TextField, useSubmit } from '../../kit/index.ts'

interface InviteDialogProps {
  readonly onMade: (invite: NewInviteView) => void
  readonly onClose: () => void
}

const NAME_CHARACTERS_MAX = 64
const OWN = ''

export function InviteDialog({ onMade, onClose }: InviteDialogProps) {
  const name = useSignal('')
  const role = useSignal<Role>('member')
  const account = useSignal(OWN)
  const texts = t().people
  const form = useSubmit(async () => {
    const wanted = {
      role: role.value,
      ...(account.value === OWN ? {} : { account: account.value }),
      ...(name.value.trim() === '' ? {} : { name: name.value.trim() }),
    }
    onMade(await api.post<NewInviteView>('/invites', wanted))
  })
  const accountOptions = [
    { value: OWN, label: texts.ownAccount },
    ...accounts.value.map(({ id, name }) => ({ value: id, label: name })),
  ]
  return (
    <Dialog
      title={texts.inviteTitle}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t().common.cancel}</Button>
          <Button type="submit" form="invite" kind="primary" isBusy={form.isBusy}>
            {texts.makeLink}
          </Button>
        </>
      }
    >
      <Form id="invite" submission={form} fields={['name', 'role', 'account']}>
        <p class="prose">{texts.inviteText}</p>
        <TextField
          label={texts.suggestedName}
          hint={texts.suggestedNameHint}
          error={form.errorOf('name')}
          value={name}
          maxLength={NAME_CHARACTERS_MAX}
          autoComplete="off"
          isOptional
          autofocus
        />
        <SelectField
          label={texts.role}
          value={role}
          error={form.errorOf('role')}
          options={[
            { value: 'member', label: texts.roles.member },
            { value: 'admin', label: texts.roles.admin },
          ]}
          hint={role.value === 'admin' ? texts.makeAdminText : undefined}
        />
        <SelectField
          label={texts.account}
          value={account}
          error={form.errorOf('account')}
          options={accountOptions}
          hint={texts.accountHint}
        />
      </Form>
    </Dialog>
  )
}
