import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { TranslationView } from '../../../src/admin/contract.ts'
import { type ApiError, api, isAbort } from '../../app/api.ts'
import { t } from '../../app/language.ts'
import { asApiError } from '../../app/resource.ts'
import { Badge, Code, ErrorNote, Skeleton } from '../../kit/index.ts'
import { type Json, object } from './answer.ts'
import type { Run } from './run.ts'

/** What the upstream is sent for this request; asked for when somebody looks, and no upstream is called for it. */
export function Upstream({ run }: { readonly run: Run }) {
  const translation = useSignal<TranslationView | null>(null)
  const error = useSignal<ApiError | null>(null)
  const { channel } = run.view.value
  useEffect(() => {
    const asking = new AbortController()
    const order = { protocol: run.lane.protocol, body: run.body, ...(channel === null ? {} : { channel }) }
    api
      .post<TranslationView>('/translations', order, { signal: asking.signal })
      .then(view => {
        translation.value = view
        error.value = null
      })
      .catch(cause => {
        if (!isAbort(cause)) error.value = asApiError(cause)
      })
    return () => asking.abort()
  }, [run, channel])
  if (error.value) return <ErrorNote error={error.value} />
  return translation.value ? <Translated view={translation.value} run={run} /> : <Skeleton height="8rem" />
}

function Translated({ view, run }: { readonly view: TranslationView; readonly run: Run }) {
  const texts = t().playground
  return (
    <div class="stack tight">
      <div class="row">
        <Badge tone="accent">{view.channel}</Badge>
        {view.dropped.length > 0 && (
          <Badge tone="warn" title={texts.droppedTitle}>
            {texts.dropped}: {view.dropped.join(', ')}
          </Badge>
        )}
      </div>
      <p class="faint small">
        {view.is_passed_on ? texts.upstreamPassedOn : texts.upstreamTranslated(texts.protocols[view.upstream_protocol])}
      </p>
      {view.is_passed_on && <Edits sent={run.body} upstream={view.request} />}
      <Code
        label={`${texts.upstreamRequest}, ${run.id}`}
        text={JSON.stringify(view.request, null, 2)}
        isLow
        isWrapped
      />
    </div>
  )
}

/** By the name of each field: the rest is as it came. */
function Edits({ sent, upstream }: { readonly sent: Json; readonly upstream: unknown }) {
  const texts = t().playground.edits
  const edits = editsOf(sent, object(upstream))
  if (edits.length === 0) return <p class="small">{texts.none}</p>
  return (
    <ul class="small" aria-label={texts.title}>
      {edits.map(({ field, kind }) => (
        <li key={field}>
          <code>{field}</code> {texts[kind]}
        </li>
      ))}
    </ul>
  )
}

interface Edit {
  readonly field: string
  readonly kind: 'added' | 'changed' | 'removed'
}

function editsOf(sent: Json, upstream: Json): readonly Edit[] {
  const fields = new Set([...Object.keys(sent), ...Object.keys(upstream)])
  return [...fields].flatMap((field): readonly Edit[] => {
    if (!Object.hasOwn(sent, field)) return [{ field, kind: 'added' }]
    if (!Object.hasOwn(upstream, field)) return [{ field, kind: 'removed' }]
    return JSON.stringify(sent[field]) === JSON.stringify(upstream[field]) ? [] : [{ field, kind: 'changed' }]
  })
}
