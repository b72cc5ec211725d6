import { useSignal } from '@preact/signals'
import type { DepositView } from '../../../src/admin/contract.ts'
import { ApiError, api } from '../../app/api.ts'
import { money } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { toast } from '../../app/toasts.tsx'
import { Button, Dialog, Form, TextField, useSubmit } from '../../kit/index.ts'
import type { DepositDialogProps } from './deposit.ts'

export function RedeemDialog({ account, onDone, onClose }: DepositDialogProps) {
  const texts = t().billing
  const code = useSignal('')
  const form = useSubmit(async () => {
    if (code.value.trim() === '') return form.refuse('code', texts.codeMissing)
    try {
      const deposit = await api.post<DepositView>('/codes/redeem', { code: code.value.trim(), account: account.id })
      toast(texts.redeemed(money(deposit.amount), deposit.account.name))
      onDone(deposit)
    } catch (error) {
      const problem = problemOf(error)
      if (problem === undefined) throw error
      form.refuse('code', problem)
    }
  })
  return (
    <Dialog
      title={texts.redeemTitle}
      look="small"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t().common.cancel}</Button>
          <Button type="submit" form="redeem" kind="primary" isBusy={form.isBusy}>
            {texts.redeemAction}
          </Button>
        </>
      }
    >
      <Form submission={form} id="redeem" fields={['code']}>
        <p class="prose">{texts.redeemText(account.name)}</p>
        <TextField
          label={texts.code}
          hint={texts.codeHint}
          value={code}
          error={form.errorOf('code')}
          placeholder="duet-XXXX-XXXX-XXXX-XXXX"
          autoComplete="off"
          spellcheck={false}
          autofocus
        />
      </Form>
    </Dialog>
  )
}

/** In the reader's language; undefined for what is not about the code. */
function problemOf(error: unknown): string | undefined {
  if (!(error instanceof ApiError) || error.param !== 'code') return undefined
  const texts = t().billing
  if (error.code === 'code_redeemed') return texts.codeRedeemed
  if (error.code === 'code_expired') return texts.codeExpired
  return error.status === 404 ? texts.codeUnknown : texts.codeMalformed
}
