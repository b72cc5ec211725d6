import type { AccountView } from '../../../src/admin/contract.ts'
import { isNegative, isZero } from '../../app/decimal.ts'
import { t } from '../../app/language.ts'
import { Money, RefusalHelp, Stat, Stats } from '../../kit/index.ts'

/** What there is, and what to do if there is nothing. */
export function Standing({ account }: { readonly account: AccountView }) {
  const texts = t().billing
  const isEmpty = isZero(account.balance) || isNegative(account.balance)
  return (
    <>
      {isEmpty && <RefusalHelp refusal="balance" account={account.id} />}
      <Stats>
        <Stat
          label={texts.balance}
          value={<Money amount={account.balance} />}
          hint={texts.balanceHint}
          tone={isEmpty ? 'bad' : 'neutral'}
        />
        <Stat label={texts.held} value={<Money amount={account.held} />} hint={texts.heldHint} />
        <Stat label={texts.spent} value={<Money amount={account.spent} />} hint={texts.spentHint} />
      </Stats>
    </>
  )
}
