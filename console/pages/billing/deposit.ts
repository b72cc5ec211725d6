import type { AccountView, DepositView } from '../../../src/admin/contract.ts'
import { compare, isZero, readAmount } from '../../app/decimal.ts'
import { money } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { toast } from '../../app/toasts.tsx'
import type { Submission } from '../../kit/index.ts'

/** What every dialog that moves money is given. */
export interface DepositDialogProps {
  readonly account: AccountView
  readonly onDone: (deposit: DepositView) => void
  readonly onClose: () => void
}

/** A typed amount above zero; says beside the field what is wrong with it, if something is. */
export function positiveAmount(typed: string, form: Submission): string | undefined {
  const amount = readAmount(typed)
  if (amount === undefined) form.refuse('amount', t().billing.notAnAmount)
  else if (isZero(amount)) form.refuse('amount', t().billing.notPositive)
  else return amount
  return undefined
}

/** An earlier try may have arrived although its answer did not, and with another amount. */
export function tell(deposit: DepositView, wanted: string, text: (amount: string, account: string) => string): void {
  const isAsked = compare(deposit.amount, wanted) === 0
  toast(isAsked ? text(money(deposit.amount), deposit.account.name) : t().billing.wasAdded(money(deposit.amount)))
}
