import { useSignal } from '@preact/signals'
import type { UserView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { t } from '../../app/language.ts'
import { toast } from '../../app/toasts.tsx'
import { Button, Dialog, Form, TextField, useSubmit } from '../../kit/index.ts'

interface RenameDialogProps {
  readonly user: UserView
  readonly onRenamed: (user: UserView) => void
  readonly onClose: () => void
}

const NAME_CHARACTERS_MAX = 64

export function RenameDialog({ user, onRenamed, onClose }: RenameDialogProps) {
  const name = useSignal(user.name)
  const form = useSubmit(async () => {
    onRenamed(await api.patch<UserView>(`/users/${encodeURIComponent(user.id)}`, { name: name.value.trim() }))
    onClose()
    toast(t().people.renamed)
  })
  return (
    <Dialog
      title={t().people.rename}
      look="small"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t().common.cancel}</Button>
          <Button type="submit" form="rename" kind="primary" isBusy={form.isBusy} isDisabled={name.value.trim() === ''}>
            {t().common.save}
          </Button>
        </>
      }
    >
      <Form id="rename" submission={form} fields={['name']}>
        <TextField
          label={t().common.name}
          value={name}
          error={form.errorOf('name')}
          maxLength={NAME_CHARACTERS_MAX}
          autoComplete="off"
          autofocus
        />
      </Form>
    </Dialog>
  )
}
