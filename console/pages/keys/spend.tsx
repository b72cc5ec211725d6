import type { KeyView } from '../../../src/admin/contract.ts'
import { isZero } from '../../app/decimal.ts'
import { money } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { Meter, Money } from '../../kit/index.ts'
import { leftOf, roomOf } from './room.ts'

interface SpendMeterProps {
  readonly spent: string
  readonly cap: string
  readonly size?: 'thin' | 'thick'
}

export function SpendMeter({ spent, cap, size = 'thin' }: SpendMeterProps) {
  const label = t().keys.spentOfLong(money(spent), money(cap))
  // A cap of nothing is reached before anything is spent.
  return isZero(cap) ? (
    <Meter label={label} value="1" max="1" size={size} />
  ) : (
    <Meter label={label} value={spent} max={cap} size={size} />
  )
}

/** In a row of the list: how much, of how much. */
export function Spend({ keyView }: { readonly keyView: KeyView }) {
  const texts = t().keys
  const { spent, cap, held } = keyView
  const room = roomOf(keyView)
  return (
    <div class="keys-spend">
      <div class="keys-spend-text">
        <span>{cap === null ? <Money amount={spent} /> : texts.spentOf(money(spent), money(cap))}</span>
        {cap === null && <span class="faint">{texts.noCap}</span>}
        {(room === 'near' || room === 'little') && <span class="keys-left">{texts.left(money(leftOf(keyView)))}</span>}
        {!isZero(held) && (
          <span class="faint" title={texts.heldLong(money(held))}>
            {texts.held(money(held))}
          </span>
        )}
      </div>
      {cap !== null && <SpendMeter spent={spent} cap={cap} />}
    </div>
  )
}
