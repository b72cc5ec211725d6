import { useSignal } from '@preact/signals'
import type { AccountView, NewNoticeView, NoticeView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { t } from '../../app/language.ts'
import { Button, Code, CopyButton, Dialog, Form, MoneyField, TextField, useSubmit } from '../../kit/index.ts'
import { positiveAmount } from './deposit.ts'

interface NoticeDialogProps {
  readonly account: AccountView
  readonly path: string
  readonly current: NoticeView | null
  readonly onSaved: (notice: NewNoticeView) => void
  readonly onClose: () => void
}

const CUT = '…'

export function NoticeDialog({ account, path, current, onSaved, onClose }: NoticeDialogProps) {
  const texts = t().billing
  const isCut = current?.url.includes(CUT) ?? false
  const threshold = useSignal(current?.threshold ?? '5')
  const url = useSignal(isCut ? '' : (current?.url ?? ''))
  const form = useSubmit(async () => {
    const amount = positiveAmount(threshold.value, form)
    if (url.value.trim() === '') form.refuse('url', texts.urlMissing)
    if (amount === undefined || url.value.trim() === '') return
    onSaved(await api.put<NewNoticeView>(path, { threshold: amount, url: url.value.trim() }))
  })
  return (
    <Dialog
      title={texts.noticeTitle(account.name)}
      look="small"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t().common.cancel}</Button>
          <Button type="submit" form="notice" kind="primary" isBusy={form.isBusy}>
            {texts.saveNotice}
          </Button>
        </>
      }
    >
      <Form submission={form} id="notice" fields={['threshold', 'amount', 'url']}>
        <MoneyField
          label={texts.threshold}
          hint={texts.thresholdHint}
          value={threshold}
          error={form.errorOf('threshold') ?? form.errorOf('amount')}
          autofocus
        />
        <TextField
          label={texts.url}
          type="url"
          inputMode="url"
          hint={isCut ? texts.urlAgain : texts.urlHint}
          value={url}
          error={form.errorOf('url')}
          placeholder="https://example.com/hook"
          autoComplete="off"
          spellcheck={false}
        />
        {current && <p class="field-hint">{texts.newSecretHint}</p>}
      </Form>
    </Dialog>
  )
}

export function SecretDialog({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  const texts = t().billing
  return (
    <Dialog
      title={texts.secretTitle}
      look="small"
      isDismissible={false}
      onClose={onClose}
      footer={
        <>
          <CopyButton text={secret} label={texts.copySecret} />
          <Button kind="primary" onClick={onClose}>
            {t().common.done}
          </Button>
        </>
      }
    >
      <div class="stack">
        <p class="prose">{texts.secretText}</p>
        <Code text={secret} label={texts.secretTitle} isWrapped />
      </div>
    </Dialog>
  )
}
