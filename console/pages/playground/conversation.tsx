import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { useShortcuts } from '../../app/keys.ts'
import { t } from '../../app/language.ts'
import { Button, Empty, IconButton } from '../../kit/index.ts'
import { AnswerCard } from './answer-card.tsx'
import { refuseFaults } from './composer.tsx'
import type { Lane } from './request.ts'
import type { Run } from './run.ts'
import { askAgain, askInstead, giveResults, isBusy, prompt, type Round, rounds, settings, stop } from './state.ts'
import { EXAMPLE_TOOLS } from './tools.ts'

export function Conversation({ lanes }: { readonly lanes: readonly Lane[] }) {
  useShortcuts({ Escape: () => isBusy.value && stop() })
  const last = rounds.value.at(-1)
  const parts = useFollowing(last?.id)
  if (!last) return <Starters />
  return (
    <section class="playground-rounds" ref={parts} aria-label={t().playground.conversation}>
      {rounds.value.map(round => (
        <RoundView key={round.id} round={round} lanes={lanes} isLast={round === last} />
      ))}
      <Told runs={last.lanes.flatMap(steps => steps.slice(-1).map(({ run }) => run))} />
    </section>
  )
}

/** So far from the end, somebody has scrolled away to read. */
const NEAR_PX = 160

/** A new question comes into view, and an answer is followed while it grows, but nobody is dragged away from reading. */
function useFollowing(round: number | undefined) {
  const parts = useRef<HTMLElement>(null)
  useEffect(() => {
    const element = parts.current
    if (!element) return
    let isNear = true
    // What comes last comes with the end: figures, and the fields for what a tool would have said.
    let wasBusy = isBusy.peek()
    let lastY = scrollY
    // Only whoever scrolls up leaves; that the end moves on is no reason to stop.
    const look = () => {
      const isUp = scrollY < lastY
      lastY = scrollY
      const isAtEnd = document.documentElement.scrollHeight - innerHeight - scrollY < NEAR_PX
      isNear = isAtEnd || (isNear && !isUp)
    }
    const growth = new ResizeObserver(() => {
      if (isNear && wasBusy) scrollTo({ top: document.documentElement.scrollHeight })
      wasBusy = isBusy.peek()
    })
    growth.observe(element)
    addEventListener('scroll', look, { passive: true })
    return () => {
      growth.disconnect()
      removeEventListener('scroll', look)
    }
  }, [round])
  return parts
}

/** A screen reader is told that an answer is there, not every word while it comes. */
function Told({ runs }: { readonly runs: readonly Run[] }) {
  const texts = t().playground
  const told = runs.map(({ lane, view }) => {
    const { state } = view.value
    const name = `${lane.model}, ${texts.protocols[lane.protocol]}`
    return state === 'done' ? texts.finished(name) : state === 'failed' ? texts.failed(name) : ''
  })
  return (
    <div class="hidden-text" role="status">
      {told.filter(Boolean).join('. ')}
    </div>
  )
}

function Starters() {
  const texts = t().playground
  const start = (name: keyof typeof texts.starters) => {
    const { output, hasTools, tools } = settings.value
    prompt.value = texts.starters[name].prompt
    output.value = name === 'json' ? 'json' : 'text'
    hasTools.value = name === 'tools'
    if (name === 'tools') tools.value = EXAMPLE_TOOLS
    document.querySelector<HTMLElement>('.playground-composer textarea')?.focus()
  }
  return (
    <div class="card">
      <Empty
        icon="playground"
        title={texts.emptyTitle}
        text={texts.tryOne}
        action={(['hello', 'tools', 'json'] as const).map(name => (
          <Button key={name} onClick={() => start(name)}>
            {texts.starters[name].label}
          </Button>
        ))}
      />
    </div>
  )
}

interface RoundProps {
  readonly round: Round
  readonly lanes: readonly Lane[]
  readonly isLast: boolean
}

function RoundView({ round, lanes, isLast }: RoundProps) {
  const { id } = round
  return (
    <article class="playground-round">
      <Question round={round} lanes={lanes} />
      <div class="playground-lanes">
        {round.lanes.map((steps, place) => (
          <div class="stack" key={place}>
            {steps.map((step, at) => {
              const isOpen = isLast && at === steps.length - 1
              const lane = lanes[place] ?? step.run.lane
              return (
                <AnswerCard
                  key={step.run.id}
                  step={step}
                  side={t().playground.lanes[place] ?? ''}
                  {...(isOpen
                    ? {
                        onRetry: () => refuseFaults() || askAgain({ id, place }, lane),
                        onResults: given => refuseFaults() || giveResults({ id, place, lane }, given),
                      }
                    : {})}
                />
              )
            })}
          </div>
        ))}
      </div>
    </article>
  )
}

function Question({ round, lanes }: { readonly round: Round; readonly lanes: readonly Lane[] }) {
  const texts = t().playground
  const isEditing = useSignal(false)
  const text = useSignal(round.prompt)
  if (!isEditing.value) {
    return (
      <div class="playground-question">
        <h2 class="hidden-text">{texts.you}</h2>
        <p>{round.prompt}</p>
        <IconButton
          icon="edit"
          label={texts.editPrompt}
          onClick={() => {
            text.value = round.prompt
            isEditing.value = true
          }}
        />
      </div>
    )
  }
  const resend = () => {
    if (text.value.trim() === '' || refuseFaults()) return
    askInstead(round.id, text.value.trim(), lanes)
  }
  return (
    <form
      class="playground-question is-edited"
      onSubmit={event => {
        event.preventDefault()
        resend()
      }}
    >
      <textarea
        class="input"
        aria-label={texts.prompt}
        rows={3}
        ref={field => field?.focus()}
        value={text}
        onInput={event => {
          text.value = event.currentTarget.value
        }}
        onKeyDown={event => {
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) resend()
          if (event.key === 'Escape') isEditing.value = false
        }}
      />
      <div class="row end">
        <Button onClick={() => (isEditing.value = false)}>{t().common.cancel}</Button>
        <Button type="submit" kind="primary">
          {texts.resend}
        </Button>
      </div>
    </form>
  )
}
