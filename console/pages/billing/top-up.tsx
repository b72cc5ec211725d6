import { useSignal } from '@preact/signals'
import { useState } from 'preact/hooks'
import type { DepositView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { add, readAmount } from '../../app/decimal.ts'
import { exactMoney, money } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { pathTo } from '../../app/router.ts'
import { Button, Dialog, Form, MoneyField, TextField, useSubmit } from '../../kit/index.ts'
import { type DepositDialogProps, positiveAmount, tell } from './deposit.ts'
import { newSource } from './source.ts'

const PRESETS = ['5', '20', '100']
const NOTE_CHARACTERS_MAX = 1_000

export function TopUpDialog({ account, onDone, onClose }: DepositDialogProps) {
  const texts = t().billing
  const [source] = useState(newSource)
  const typed = useSignal('20')
  const note = useSignal('')
  const form = useSubmit(async () => {
    const amount = positiveAmount(typed.value, form)
    if (amount === undefined) return
    const body = { amount, source, note: note.value.trim() || null }
    const deposit = await api.post<DepositView>(`${pathTo('accounts', account.id)}/topups`, body)
    tell(deposit, amount, texts.toppedUp)
    onDone(deposit)
  })
  const amount = readAmount(typed.value)
  return (
    <Dialog
      title={texts.topUpTitle(account.name)}
      look="small"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t().common.cancel}</Button>
          <Button type="submit" form="topup" kind="primary" isBusy={form.isBusy}>
            {texts.topUp}
          </Button>
        </>
      }
    >
      <Form submission={form} id="topup" fields={['amount', 'note']}>
        <p class="prose">{texts.topUpText}</p>
        <fieldset class="chips billing-presets">
          <legend class="hidden-text">{texts.presets}</legend>
          {PRESETS.map(preset => (
            <label key={preset}>
              <input type="radio" name="preset" checked={amount === preset} onChange={() => (typed.value = preset)} />
              <span>{money(preset)}</span>
            </label>
          ))}
        </fieldset>
        <MoneyField
          label={texts.otherAmount}
          value={typed}
          error={form.errorOf('amount')}
          hint={texts.balanceAfter(exactMoney(amount === undefined ? account.balance : add(account.balance, amount)))}
          autofocus
        />
        <TextField
          label={texts.note}
          hint={texts.noteHint}
          value={note}
          error={form.errorOf('note')}
          maxLength={NOTE_CHARACTERS_MAX}
          isOptional
        />
      </Form>
    </Dialog>
  )
}
