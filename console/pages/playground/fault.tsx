import { t } from '../../app/language.ts'
import { account } from '../../app/session.ts'
import { type MoneyRefusal, Note, RefusalHelp } from '../../kit/index.ts'
import type { Fault } from './answer.ts'
import type { Run } from './run.ts'

interface FaultNoteProps {
  readonly fault: Fault
  readonly refusal: MoneyRefusal | null
  readonly run: Run
}

/** What the caller was told, in full, and for want of money also what helps. */
export function FaultNote({ fault, refusal, run }: FaultNoteProps) {
  const texts = t().playground
  const { status, code, type, message, param, hint, retryAfter } = fault
  const details = [code || type, param].filter(Boolean)
  const billed = run.account ?? account.value?.id
  return (
    <>
      <Note tone="bad" title={status >= 400 ? texts.refusedTitle(status) : texts.failedTitle}>
        <p>{code === 'unreachable' ? texts.unreachable : message}</p>
        {hint && <p>{hint}</p>}
        {retryAfter && <p>{texts.retryAfter(retryAfter)}</p>}
        {details.length > 0 && (
          <p class="small">
            {details.map(word => (
              <code key={word}>{word} </code>
            ))}
          </p>
        )}
      </Note>
      {refusal && <RefusalHelp refusal={refusal} {...(billed === undefined ? {} : { account: billed })} />}
      {refusal === 'cap' && <p class="faint small">{texts.capHere}</p>}
    </>
  )
}
