import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { NewKeyView, UsageView } from '../../../src/admin/contract.ts'
import { useEvent } from '../../app/events.ts'
import { t } from '../../app/language.ts'
import { href, pathTo } from '../../app/router.ts'
import { Button, CopyButton, Dialog, Icon } from '../../kit/index.ts'
import { Connect } from './connect.tsx'

interface RevealProps {
  readonly made: NewKeyView
  readonly onSaved: () => void
}

/** The secret of a new key, once. It is left by saying that it is saved, and by nothing else. */
export function Reveal({ made, onSaved }: RevealProps) {
  const texts = t().keys
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
          <FirstRequest keyId={made.id} />
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
        <h3>{texts.useTitle}</h3>
        <Connect secret={made.key} models={made.models} />
      </div>
    </Dialog>
  )
}

/** Whether it works, seen from here. */
function FirstRequest({ keyId }: { readonly keyId: string }) {
  const texts = t().keys
  const first = useSignal<UsageView | null>(null)
  useEvent('usage', ({ rows }) => {
    // One that worked says more than one that did not and came before.
    if (first.value?.status === 'ok') return
    const own = rows.filter(({ key }) => key === keyId)
    first.value = own.find(({ status }) => status === 'ok') ?? own[0] ?? first.value
  })
  const row = first.value
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
        <>
          <Icon name="warning" size={18} />
          <span>
            {texts.receivedButFailed}: <code>{row.status}</code>
          </span>
        </>
      )}
      {row && (
        <a href={href(pathTo('requests', row.request_id))} target="_blank" rel="noreferrer">
          {texts.seeRequest}
        </a>
      )}
    </p>
  )
}
