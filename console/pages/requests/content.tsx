import type { CaptureView, UsageReceiptView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { href, pathTo } from '../../app/router.ts'
import { isAdmin } from '../../app/session.ts'
import { Code, Note, Part, Time } from '../../kit/index.ts'

/** What was asked and answered, where the key stores it; else who could switch that on. */
export function Content({ request }: { readonly request: UsageReceiptView }) {
  const texts = t().requests
  if (request.capture) return <Stored capture={request.capture} />
  return (
    <Part title={texts.content}>
      <p class="faint">
        {texts.notStored} {isAdmin.value ? texts.notStoredAdmin : texts.notStoredMember}{' '}
        {isAdmin.value && <a href={href(pathTo('keys', request.key))}>{texts.openKey}</a>}
      </p>
    </Part>
  )
}

function Stored({ capture }: { readonly capture: CaptureView }) {
  const texts = t().requests
  return (
    <Part
      title={texts.content}
      actions={
        <span class="small faint">
          {texts.storedUntil} <Time at={capture.expires_at} />
        </span>
      }
    >
      {capture.is_cut && <Note>{texts.cut}</Note>}
      <h4>{texts.prompt}</h4>
      <Code text={readable(capture.request)} label={texts.prompt} isLow isWrapped />
      <h4>{texts.answer}</h4>
      <Code text={readable(capture.response)} label={texts.answer} isLow isWrapped />
    </Part>
  )
}

/** JSON with its structure in sight; frames and broken texts as they are. */
function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
