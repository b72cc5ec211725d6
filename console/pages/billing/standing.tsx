import type { AccountView } from '../../../src/admin/contract.ts'
import { type BalanceState, balanceState } from '../../app/balance.ts'
import { decimalsFor } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { Money, RefusalHelp, Stat, Stats } from '../../kit/index.ts'

const TONES: Readonly<Record<BalanceState, 'bad' | 'warn' | 'neutral'>> = {
  none: 'bad',
  empty: 'bad',
  low: 'warn',
  enough: 'neutral',
}

/** What there is, and what to do if there is nothing. */
export function Standing({ account }: { readonly account: AccountView }) {
  const texts = t().billing
  const { balance, held, spent } = account
  const state = balanceState(account)
  const decimals = decimalsFor([balance, held, spent])
  return (
    <>
      {state !== 'enough' && <RefusalHelp refusal="balance" account={account.id} balance={state} />}
      <Stats>
        <Stat
          label={texts.balance}
          value={<Money amount={balance} decimals={decimals} />}
          hint={texts.balanceHint}
          tone={TONES[state]}
        />
        <Stat label={texts.held} value={<Money amount={held} decimals={decimals} />} hint={texts.heldHint} />
        <Stat label={texts.spent} value={<Money amount={spent} decimals={decimals} />} hint={texts.spentHint} />
      </Stats>
    </>
  )
}
