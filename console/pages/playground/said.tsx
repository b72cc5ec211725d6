import { t } from '../../app/language.ts'
import { Badge, Code, Skeleton } from '../../kit/index.ts'
import { parse } from './answer.ts'
import type { Run } from './run.ts'

/** The words of an answer: thoughts folded, JSON in order. */
export function Said({ run }: { readonly run: Run }) {
  const texts = t().playground
  const { state, answer } = run.view.value
  const { text, reasoning, calls } = answer
  const isJson = 'response_format' in run.body || 'output_config' in run.body
  const isEmpty = text === '' && reasoning === '' && calls.length === 0
  if (isEmpty && run.isBusy) return <Waiting />
  return (
    <>
      {reasoning !== '' && (
        <details class="playground-reasoning">
          <summary>{texts.reasoning}</summary>
          <p>{reasoning}</p>
        </details>
      )}
      {isJson && state === 'done' && text !== '' ? (
        <JsonText text={text} run={run} />
      ) : (
        text !== '' && <p class="playground-text">{text}</p>
      )}
      {isEmpty && state === 'stopped' && <p class="faint">{texts.stoppedEarly}</p>}
      {isEmpty && state === 'done' && <p class="faint">{texts.nothingSaid}</p>}
    </>
  )
}

function Waiting() {
  return (
    <div class="stack tight" role="status" aria-label={t().playground.waiting}>
      <Skeleton width="82%" />
      <Skeleton width="56%" />
    </div>
  )
}

function JsonText({ text, run }: { readonly text: string; readonly run: Run }) {
  const texts = t().playground
  const value = parse(text)
  const isValid = value !== undefined
  return (
    <div class="stack tight">
      <div>
        <Badge tone={isValid ? 'good' : 'bad'}>{isValid ? texts.validJson : texts.invalidJson}</Badge>
      </div>
      <Code
        label={`${texts.tabs.answer}, ${run.id}`}
        text={isValid ? JSON.stringify(value, null, 2) : text}
        isWrapped
      />
    </div>
  )
}
