import { useSignal } from '@preact/signals'
import { useState } from 'preact/hooks'
import type { DepositView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { add, isNegative, readAmount } from '../../app/decimal.ts'
import { exactMoney } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { pathTo } from '../../app/router.ts'
import { Button, Dialog, Form, MoneyField, Note, Segments, TextField, useSubmit } from '../../kit/index.ts'
import { type DepositDialogProps, positiveAmount, tell } from './deposit.ts'
import { newSource } from './source.ts'

const REASON_CHARACTERS_MAX = 1_000

/** Up or down, and why. */
export function AdjustDialog({ account, onDone, onClose }: DepositDialogProps) {
  const texts = t().billing
  const [source] = useState(newSource)
  const direction = useSignal<'up' | 'down'>('up')
  const typed = useSignal('')
  const reason = useSignal('')
  const signed = (amount: string) => (direction.value === 'up' ? amount : `-${amount}`)
  const form = useSubmit(async () => {
    const amount = positiveAmount(typed.value, form)
    const note = reason.value.trim()
    if (note === '') form.refuse('note', texts.reasonMissing)
    if (amount === undefined || note === '') return
    const body = { amount: signed(amount), source, note }
    const deposit = await api.post<DepositView>(`${pathTo('accounts', account.id)}/adjustments`, body)
    tell(deposit, body.amount, texts.adjusted)
    onDone(deposit)
  })
  const amount = readAmount(typed.value)
  const after = amount === undefined ? account.balance : add(account.balance, signed(amount))
  return (
    <Dialog
      title={texts.adjustTitle(account.name)}
      look="small"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t().common.cancel}</Button>
          <Button type="submit" form="adjust" kind="primary" isBusy={form.isBusy}>
            {texts.adjust}
          </Button>
        </>
      }
    >
      <Form submission={form} id="adjust" fields={['amount', 'note']}>
        <p class="prose">{texts.adjustText}</p>
        <div>
          <Segments
            label={texts.direction}
            options={[
              { value: 'up', label: texts.addMoney },
              { value: 'down', label: texts.takeMoney },
            ]}
            value={direction.value}
            onChange={value => (direction.value = value)}
          />
        </div>
        <MoneyField
          label={texts.otherAmount}
          value={typed}
          error={form.errorOf('amount')}
          hint={texts.balanceAfter(exactMoney(after))}
          autofocus
        />
        {isNegative(after) && <Note tone="warn">{texts.belowZero}</Note>}
        <TextField
          label={texts.reason}
          hint={texts.reasonHint}
          value={reason}
          error={form.errorOf('note')}
          maxLength={REASON_CHARACTERS_MAX}
        />
      </Form>
    </Dialog>
  )
}
