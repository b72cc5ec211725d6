import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { KeyView } from '../../../src/admin/contract.ts'
import { isZero, readAmount } from '../../app/decimal.ts'
import { money } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { query } from '../../app/router.ts'
import { Button, Form, Money, MoneyField, Note, Part, REFUSAL_CODES, RefusalHelp, useSubmit } from '../../kit/index.ts'
import { type KeyChanges, RAISES, raise, setCap } from './changes.ts'
import { leftOf, roomOf } from './room.ts'
import { SpendMeter } from './spend.tsx'
import { capWarning } from './warning.ts'

interface CapProps {
  readonly keyView: KeyView
  readonly changes: KeyChanges
}

/** What the key has spent, what it may spend, and how to change that. */
export function Cap({ keyView: key, changes }: CapProps) {
  const texts = t().keys
  const host = useRef<HTMLDivElement>(null)
  const room = roomOf(key)
  const isWanted = query.value.get('raise') === 'true'
  useEffect(() => {
    if (!isWanted) return
    host.current?.scrollIntoView({ block: 'nearest' })
    host.current?.querySelector<HTMLElement>('button, input')?.focus()
  }, [isWanted])
  return (
    <Part title={texts.capTitle}>
      {room === 'none' && <RefusalHelp refusal="cap" />}
      {room === 'little' && (
        <RefusalHelp refusal="cap" title={texts.lowCapTitle}>
          {texts.lowCapText(money(leftOf(key)))}
        </RefusalHelp>
      )}
      {room === 'near' && (
        <Note tone="warn" title={texts.nearCapTitle}>
          {texts.nearCapText(money(leftOf(key)))} <code>403 {REFUSAL_CODES.cap}</code>
        </Note>
      )}
      <Standing keyView={key} />
      {key.cap !== null && room === 'plenty' && <p class="small faint">{texts.holdsText}</p>}
      <div ref={host} class="stack tight">
        {key.cap !== null && (
          <div class="row">
            {RAISES.map(amount => (
              <Button
                key={amount}
                title={texts.raiseByLong(money(amount), key.name)}
                onClick={() => raise(key, amount, changes)}
              >
                {texts.raiseBy(money(amount))}
              </Button>
            ))}
            <Button kind="quiet" onClick={() => setCap(key, null, changes)}>
              {texts.removeCap}
            </Button>
          </div>
        )}
        <SetCap keyView={key} changes={changes} />
      </div>
    </Part>
  )
}

function Standing({ keyView: { cap, spent, held, remaining, account_name } }: { readonly keyView: KeyView }) {
  const texts = t().keys
  const heldText = !isZero(held) && <span class="faint">{texts.heldLong(money(held))}</span>
  if (cap === null) {
    return (
      <div class="stack tight">
        <p class="keys-amount">
          <Money amount={spent} />
        </p>
        <p class="faint">
          {texts.noCapText(account_name)} {heldText}
        </p>
      </div>
    )
  }
  return (
    <div class="stack tight">
      <p class="row spread">
        <span class="keys-amount">{texts.spentOf(money(spent), money(cap))}</span>
        <span class="row">
          {heldText}
          <span>{texts.left(money(remaining ?? '0'))}</span>
        </span>
      </p>
      <SpendMeter spent={spent} cap={cap} size="thick" />
    </div>
  )
}

function SetCap({ keyView: key, changes }: CapProps) {
  const texts = t().keys
  const typed = useSignal('')
  const amount = readAmount(typed.value)
  const form = useSubmit(async () => {
    if (amount === undefined) return form.refuse('cap', texts.notAnAmount)
    await setCap(key, amount, changes)
    typed.value = ''
  })
  const warning = capWarning(typed.value, key.spent)
  return (
    <Form submission={form} fields={['cap']}>
      <div class="keys-set-cap">
        <MoneyField
          label={texts.setCap}
          value={typed}
          error={form.errorOf('cap')}
          {...(warning ? { hint: <strong class="keys-warning">{warning}</strong> } : {})}
        />
        <Button type="submit" isBusy={form.isBusy}>
          {texts.set}
        </Button>
      </div>
    </Form>
  )
}
