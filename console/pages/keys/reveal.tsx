import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { NewKeyView, UsageView } from '../../../src/admin/contract.ts'
import { useEvent } from '../../app/events.ts'
import { money } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { href, pathTo } from '../../app/router.ts'
import { account, isAdmin } from '../../app/session.ts'
import { Button, CopyButton, Dialog, Icon, type MoneyRefusal, moneyRefusalOf, RefusalHelp } from '../../kit/index.ts'
import { RequestStatus } from '../requests/status.tsx'
import { type KeyChanges, RAISES, raise } from './changes.ts'
import { Connect } from './connect.tsx'

interface RevealProps {
  readonly made: NewKeyView
  readonly changes: KeyChanges
  readonly onSaved: () => void
}

/** The secret of a new key, once. It is left by saying that it is saved, and by nothing else. */
export function Reveal({ made, changes, onSaved }: RevealProps) {
  const texts = t().keys
  const first = useSignal<UsageView | null>(null)
  const refusal = first.value && moneyRefusalOf(first.value.status)
  useEvent('usage', ({ rows }) => {
    // One that worked says more than one that did not and came before.
    if (first.value?.status === 'ok') return
    const own = rows.filter(({ key }) => key === made.id)
    first.value = own.find(({ status }) => status === 'ok') ?? own.at(-1) ?? first.value
  })
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [])
  return (
    <Dialog
      title={texts.revealTitle}
      look="large"
      isDismissible={false}
      onClose={onSaved}
      footer={
        <>
          <FirstRequest row={first.value} />
          <Button kind="primary" onClick={onSaved}>
            {texts.savedIt}
          </Button>
        </>
      }
    >
      <div class="stack">
        <p class="prose">{texts.revealText}</p>
        <div class="keys-secret">
          <output aria-label={texts.secret}>{made.key}</output>
          <CopyButton kind="primary" text={made.key} label={texts.copySecret} />
        </div>
        {refusal && (
          <RefusalHelp
            refusal={refusal}
            account={made.account}
            {...(refusal === 'cap' ? { title: texts.lowCapTitle } : {})}
            action={<Remedy refusal={refusal} made={made} changes={changes} onHelped={() => (first.value = null)} />}
          >
            {texts.firstRefused}
          </RefusalHelp>
        )}
        <h3>{texts.useTitle}</h3>
        <Connect secret={made.key} models={made.models} />
      </div>
    </Dialog>
  )
}

/** Whether it works, seen from here. */
function FirstRequest({ row }: { readonly row: UsageView | null }) {
  const texts = t().keys
  return (
    <p class="keys-first" role="status">
      {row === null && (
        <>
          <span class="spinner" aria-hidden="true" />
          {texts.waiting}
        </>
      )}
      {row?.status === 'ok' && (
        <span class="keys-received">
          <Icon name="check" size={18} />
          {texts.received}
        </span>
      )}
      {row && row.status !== 'ok' && (
        <span>
          <Icon name="warning" size={18} /> {texts.receivedButFailed}{' '}
          <RequestStatus status={row.status} model={row.model} />
        </span>
      )}
      {row && (
        <a href={href(pathTo('requests', row.request_id))} target="_blank" rel="noreferrer">
          {texts.seeRequest}
        </a>
      )}
    </p>
  )
}

interface RemedyProps extends Pick<RevealProps, 'made' | 'changes'> {
  readonly refusal: MoneyRefusal
  readonly onHelped: () => void
}

/** Here or in another window: leaving this one would lose the secret. */
function Remedy({ refusal, made, changes, onHelped }: RemedyProps) {
  const [amount] = RAISES
  if (refusal === 'cap') {
    const { key: _secret, ...key } = made
    return (
      <Button
        title={t().keys.raiseByLong(money(amount), made.name)}
        onClick={() => raise(key, amount, { ...changes, changed: raised => [changes.changed(raised), onHelped()] })}
      >
        {t().keys.raiseBy(money(amount))}
      </Button>
    )
  }
  const topUp = { topup: true, account: made.account === account.value?.id ? null : made.account }
  return (
    <a
      class="button secondary medium"
      target="_blank"
      rel="noreferrer"
      href={href('/billing', isAdmin.value ? topUp : { redeem: true })}
    >
      {isAdmin.value ? t().refusal.topUp : t().refusal.redeem}
    </a>
  )
}
