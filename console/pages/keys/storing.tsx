import { useSignal } from '@preact/signals'
import type { KeyView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { isAdmin } from '../../app/session.ts'
import { toast, toastError } from '../../app/toasts.tsx'
import { Button, confirm, Form, Note, Part, TextField, useSubmit } from '../../kit/index.ts'
import { type KeyChanges, patchKey } from './changes.ts'

interface StoringProps {
  readonly keyView: KeyView
  readonly changes: KeyChanges
}

const DAYS_AT_FIRST = 7
const DAYS_MAX = 365

/** Whether prompts and answers are stored. Members see it; admins switch it. */
export function Storing({ keyView: key, changes }: StoringProps) {
  const texts = t().keys
  const isEditing = useSignal(false)
  const { keep_days: days } = key
  if (!isAdmin.value) {
    return (
      <Part title={texts.keepTitle}>
        {days === null ? (
          <p class="faint">{texts.keepOffMember}</p>
        ) : (
          <Note tone="warn" title={texts.keepOn(days)}>
            {texts.keepOnMember}
          </Note>
        )}
      </Part>
    )
  }
  if (isEditing.value) {
    return (
      <Part title={texts.keepTitle}>
        <Switching keyView={key} changes={changes} onDone={() => (isEditing.value = false)} />
      </Part>
    )
  }
  return (
    <Part title={texts.keepTitle}>
      {days === null ? <p class="faint">{texts.keepOff}</p> : <Note tone="warn">{texts.keepOn(days)}</Note>}
      <div class="row">
        <Button onClick={() => (isEditing.value = true)}>{days === null ? texts.keepStart : texts.keepChange}</Button>
        {days !== null && <Button onClick={() => stop(key, changes)}>{texts.keepStop}</Button>}
      </div>
    </Part>
  )
}

async function stop(key: KeyView, changes: KeyChanges): Promise<void> {
  const texts = t().keys
  const isSure = await confirm({
    title: texts.keepStopTitle,
    text: texts.keepStopText,
    action: texts.keepStopAction,
    isDangerous: true,
  })
  if (!isSure) return
  try {
    changes.changed(await patchKey(key.id, { keep_days: null }))
    toast(t().common.saved)
  } catch (error) {
    toastError(error)
  }
}

function Switching({ keyView: key, changes, onDone }: StoringProps & { readonly onDone: () => void }) {
  const texts = t().keys
  const typed = useSignal(String(key.keep_days ?? DAYS_AT_FIRST))
  const form = useSubmit(async () => {
    const days = Number(typed.value)
    if (!Number.isInteger(days) || days < 1 || days > DAYS_MAX) return form.refuse('keep_days', texts.keepDaysWrong)
    changes.changed(await patchKey(key.id, { keep_days: days }))
    toast(t().common.saved)
    onDone()
  })
  return (
    <Form submission={form} fields={['keep_days']}>
      <Note tone="warn" title={texts.keepWarningTitle}>
        {texts.keepWarning}
      </Note>
      <TextField
        label={texts.keepDays}
        suffix={texts.keepDaysUnit}
        inputMode="numeric"
        value={typed}
        error={form.errorOf('keep_days')}
        autoComplete="off"
      />
      <div class="row end">
        <Button onClick={onDone}>{t().common.cancel}</Button>
        <Button type="submit" kind="primary" isBusy={form.isBusy}>
          {key.keep_days === null ? texts.keepStart : t().common.save}
        </Button>
      </div>
    </Form>
  )
}
