import { useEffect, useState } from 'preact/hooks'
import type { AccountView } from '../../../src/admin/contract.ts'
import { balanceState } from '../../app/balance.ts'
import { money } from '../../app/format.ts'
import { keep, kept } from '../../app/keep.ts'
import { t } from '../../app/language.ts'
import { href } from '../../app/router.ts'
import { Icon, REFUSAL_CODES } from '../../kit/index.ts'
import { Gate } from './gate.tsx'

/** The way of a request through the two limits, with the refusal of each and what helps against it. */
export function Limits({ account }: { readonly account: AccountView }) {
  const texts = t().billing.limits
  // Whoever has read it looks for the ledger, until the balance itself refuses calls.
  const [isNew] = useState(() => kept('limits') === null)
  useEffect(() => keep('limits', 'seen'), [])
  return (
    <details class="card billing-limits" open={isNew || balanceState(account) !== 'enough'}>
      <summary>
        <h2>{texts.title}</h2>
        <Icon name="down" />
      </summary>
      <p class="billing-limits-text">{texts.text}</p>
      <ol class="billing-gates">
        <li class="billing-end">
          <Icon name="keys" size={18} />
          {texts.request}
        </li>
        <Gate
          title={texts.balanceTitle}
          question={texts.balanceQuestion}
          now={texts.now(money(account.balance))}
          about={texts.balanceAbout}
          code={REFUSAL_CODES.balance}
          helps={texts.topUp}
          helpsNot={texts.raise}
        />
        <Gate
          title={texts.capTitle}
          question={texts.capQuestion}
          now={<a href={href('/keys', { account: account.id })}>{texts.seeKeys}</a>}
          about={texts.capAbout}
          code={REFUSAL_CODES.cap}
          helps={texts.raise}
          helpsNot={texts.topUp}
        />
        <li class="billing-end is-good">
          <Icon name="check" size={18} />
          {texts.answered}
        </li>
      </ol>
    </details>
  )
}
