import { useSignal } from '@preact/signals'
import { t } from '../../app/language.ts'
import { isAdmin, session } from '../../app/session.ts'
import { Badge, Code, IconButton, Tabs } from '../../kit/index.ts'
import { Calls } from './calls.tsx'
import { curlOf } from './curl.ts'
import { FaultNote } from './fault.tsx'
import { Figures } from './figures.tsx'
import { Frames } from './frames.tsx'
import type { ToolResult } from './request.ts'
import type { Run, RunView } from './run.ts'
import { Said } from './said.tsx'
import type { Step } from './state.ts'
import { Upstream } from './upstream.tsx'

interface AnswerCardProps {
  readonly step: Step
  /** Which of two lanes it is in. */
  readonly side: string
  readonly onRetry?: () => void
  readonly onResults?: (given: readonly ToolResult[]) => void
}

type View = 'answer' | 'frames' | 'request' | 'curl' | 'upstream'

/** One call: what came of it, what it cost, and what went over the wire. */
export function AnswerCard({ step, side, onRetry, onResults }: AnswerCardProps) {
  const { run } = step
  const texts = t().playground
  const shown = useSignal<View>('answer')
  const views: readonly View[] = [
    'answer',
    'frames',
    'request',
    'curl',
    ...(isAdmin.value ? (['upstream'] as const) : []),
  ]
  const view = run.view.value
  return (
    <article class="card playground-answer" aria-label={`${run.lane.model}, ${texts.protocols[run.lane.protocol]}`}>
      <header>
        <h3 class="truncate" title={run.lane.model}>
          {run.lane.model}
        </h3>
        <Badge>{texts.protocols[run.lane.protocol]}</Badge>
        <State view={view} />
        {onRetry && !run.isBusy && <IconButton icon="refresh" label={texts.again} onClick={onRetry} />}
      </header>
      <Tabs
        label={texts.tabsOf(side)}
        tabs={views.map(id => ({ id, label: texts.tabs[id] }))}
        current={shown.value}
        onChange={id => (shown.value = id)}
      >
        {shown.value === 'answer' && (
          <div class="stack">
            <Said run={run} />
            {view.state === 'done' && view.answer.calls.length > 0 && (
              <Calls run={run} given={step.given} {...(onResults ? { onResults } : {})} />
            )}
            {view.fault && <FaultNote fault={view.fault} refusal={view.refusal} run={run} />}
          </div>
        )}
        {shown.value === 'frames' && <Frames run={run} />}
        {shown.value === 'request' && (
          <Code label={`${texts.requestText}, ${run.id}`} text={JSON.stringify(run.body, null, 2)} isLow isWrapped />
        )}
        {shown.value === 'curl' && <Curl run={run} />}
        {shown.value === 'upstream' && <Upstream run={run} />}
      </Tabs>
      <Figures view={view} />
    </article>
  )
}

function State({ view: { state, answer } }: { readonly view: RunView }) {
  const texts = t().playground
  if (state === 'stopped') return <Badge tone="warn">{texts.stopped}</Badge>
  if (state === 'failed') return <Badge tone="bad">{texts.failedTitle}</Badge>
  if (state === 'done' && answer.ending !== null)
    return (
      <span title={texts.endings}>
        <Badge tone="good">{answer.ending}</Badge>
      </span>
    )
  return state === 'done' ? null : <span class="spinner" aria-hidden="true" />
}

function Curl({ run }: { readonly run: Run }) {
  const texts = t().playground
  const baseUrl = session.value?.base_url ?? `${location.origin}/v1`
  return (
    <div class="stack tight">
      <p class="faint small">{texts.curlText}</p>
      <Code
        label={`${texts.tabs.curl}, ${run.id}`}
        text={curlOf({ protocol: run.lane.protocol, baseUrl, body: run.body })}
        isLow
      />
    </div>
  )
}
