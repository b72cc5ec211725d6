import type { NewInviteView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { Button, CopyButton, Dialog, Note, Time } from '../../kit/index.ts'

/** A link that is shown once: it goes when the button says so, not by a slip. */
export function LinkDialog({ invite, onClose }: { readonly invite: NewInviteView; readonly onClose: () => void }) {
  const texts = t().people
  const isReset = invite.kind === 'reset'
  return (
    <Dialog
      title={isReset ? texts.resetTitle(invite.user ?? '') : texts.linkTitle}
      onClose={onClose}
      isDismissible={false}
      footer={
        <>
          <CopyButton kind="primary" text={invite.link} label={texts.copyLink} />
          <Button onClick={onClose}>{t().common.done}</Button>
        </>
      }
    >
      <div class="stack">
        {isReset && <p class="prose">{texts.resetText}</p>}
        <Note tone="warn">{texts.linkText}</Note>
        <input
          class="input mono"
          readOnly
          aria-label={texts.link}
          value={invite.link}
          onFocus={event => event.currentTarget.select()}
        />
        <p class="faint small">
          {texts.expires} <Time at={invite.expires_at} />
        </p>
      </div>
    </Dialog>
  )
}
