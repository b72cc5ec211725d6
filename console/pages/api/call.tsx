import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { OpenApiView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { Badge, Code, type Tone } from '../../kit/index.ts'
import type { Access, Call, CallAnswer } from './document.ts'
import { curlOf } from './example.ts'
import { Prose } from './prose.tsx'
import { Schema } from './schema.tsx'

interface CallProps {
  readonly call: Call
  readonly document: OpenApiView
}

const ACCESS_TONES: Readonly<Record<Access, Tone>> = { open: 'good', member: 'neutral', admin: 'accent' }

/** A line that unfolds; its address is its name, so that a link can lead to it. */
export function CallRow({ call, document, isWanted }: CallProps & { readonly isWanted: boolean }) {
  const isOpen = useSignal(isWanted)
  const row = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    if (!isWanted) return
    isOpen.value = true
    row.current?.scrollIntoView({ block: 'start' })
    row.current?.querySelector('summary')?.focus({ preventScroll: true })
  }, [isWanted])
  return (
    <details
      class="api-call"
      id={call.id}
      ref={row}
      open={isOpen.value}
      onToggle={event => {
        isOpen.value = event.currentTarget.open
        if (isOpen.value) history.replaceState(history.state, '', `#${call.id}`)
      }}
    >
      <summary>
        <span class={`api-method ${call.method.toLowerCase()}`}>{call.method}</span>
        <code class="api-path">{call.path}</code>
        <span class="api-summary">
          <Prose text={call.summary} />
        </span>
        <Badge tone={ACCESS_TONES[call.access]}>{t().api.access[call.access]}</Badge>
      </summary>
      {isOpen.value && <CallBody call={call} document={document} />}
    </details>
  )
}

function CallBody({ call, document }: CallProps) {
  const texts = t().api
  const { parameters, body, answers } = call
  const good = answers.filter(({ status }) => status.startsWith('2'))
  const bad = answers.filter(({ status }) => !status.startsWith('2'))
  return (
    <div class="api-body">
      <div class="stack">
        <p class="prose">{texts.who[call.access]}</p>
        {parameters.length > 0 && <Parameters call={call} />}
        {body && (
          <section>
            <h3>{body.isRequired ? texts.body : texts.optionalBody}</h3>
            <Schema schema={body.schema} document={document} />
          </section>
        )}
        {bad.length > 0 && <Bad answers={bad} />}
      </div>
      <div class="stack">
        <section>
          <h3>{texts.example}</h3>
          <Code
            label={`${texts.example}: ${call.method} ${call.path}`}
            text={curlOf(call, document, location.origin)}
            isLow
          />
        </section>
        {good.map(answer => (
          <Good key={answer.status} answer={answer} document={document} />
        ))}
      </div>
    </div>
  )
}

function Parameters({ call: { parameters } }: { readonly call: Call }) {
  const texts = t().api
  return (
    <section>
      <h3>{texts.parameters}</h3>
      <ul class="api-members">
        {parameters.map(({ name, in: place, required, description }) => (
          <li key={`${place} ${name}`}>
            <code class="strong">{name}</code>{' '}
            <span class="faint">
              {texts.places[place]}
              {!required && ` · ${t().common.optional}`}
            </span>
            {description && (
              <span class="api-about">
                <Prose text={description} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

function Good({ answer, document }: { readonly answer: CallAnswer; readonly document: OpenApiView }) {
  const texts = t().api
  return (
    <section>
      <h3>
        {texts.answer} <Badge tone="good">{answer.status}</Badge>
      </h3>
      {answer.schemas.length === 0 && <p class="small faint">{texts.nothing}</p>}
      {answer.schemas.map(([type, schema]) => (
        <div key={type}>
          {type !== 'application/json' && <code class="small">{type}</code>}
          <Schema schema={schema} document={document} />
        </div>
      ))}
    </section>
  )
}

function Bad({ answers }: { readonly answers: readonly CallAnswer[] }) {
  const texts = t().api
  return (
    <section>
      <h3>{texts.refusals}</h3>
      <ul class="api-members">
        {answers.map(({ status, description }) => (
          <li key={status}>
            <Badge tone="bad">{status}</Badge> <Prose text={description} />
          </li>
        ))}
      </ul>
    </section>
  )
}
