import { useSignal } from '@preact/signals'
import type { OverviewView } from '../../../src/admin/contract.ts'
import { balanceState } from '../../app/balance.ts'
import { keep, kept } from '../../app/keep.ts'
import { t } from '../../app/language.ts'
import { href } from '../../app/router.ts'
import { isAdmin } from '../../app/session.ts'
import { Icon, IconButton } from '../../kit/index.ts'

interface Step {
  readonly isDone: boolean
  readonly title: string
  readonly text: string
  readonly href: string
}

/** Ticks itself as things happen, and is gone when all is done or nobody wants it. */
export function FirstSteps({ view }: { readonly view: OverviewView }) {
  const texts = t().overview
  const isDismissed = useSignal(kept('first-steps') === 'dismissed')
  const all = stepsOf(view)
  const done = all.filter(({ isDone }) => isDone).length
  if (isDismissed.value || done === all.length) return null
  const dismiss = () => {
    keep('first-steps', 'dismissed')
    isDismissed.value = true
  }
  return (
    <section class="card overview-steps" aria-labelledby="first-steps">
      <header>
        <h2 id="first-steps">{texts.steps}</h2>
        <span class="faint small">{texts.stepsDone(done, all.length)}</span>
        <IconButton icon="close" label={texts.stepsDismiss} onClick={dismiss} />
      </header>
      <ol>
        {all.map((step, index) => (
          <li key={step.title} class={step.isDone ? 'is-done' : undefined}>
            <span class="overview-step-mark" aria-hidden="true">
              {step.isDone ? <Icon name="check" size={14} /> : index + 1}
            </span>
            <div>
              {step.isDone ? <span class="strong">{step.title}</span> : <a href={step.href}>{step.title}</a>}
              <span class="hidden-text"> {step.isDone ? texts.stepDone : texts.stepOpen}</span>
              <p>{step.text}</p>
            </div>
          </li>
        ))}
      </ol>
    </section>
  )
}

function stepsOf({ account, steps: { channel, key, request, cap } }: OverviewView): readonly Step[] {
  const texts = t().overview
  const upstream: Step = {
    isDone: channel,
    title: texts.channelStep,
    text: texts.channelStepText,
    href: href('/channels'),
  }
  // Without it nothing else of theirs works, and they have no say in upstreams.
  const money: Step = {
    isDone: account !== null && balanceState(account) !== 'none',
    title: texts.moneyStep,
    text: texts.moneyStepText,
    href: href('/billing', { redeem: true }),
  }
  return [
    isAdmin.value ? upstream : money,
    { isDone: key, title: texts.keyStep, text: texts.keyStepText, href: href('/keys/new') },
    { isDone: request, title: texts.requestStep, text: texts.requestStepText, href: href('/playground') },
    { isDone: cap, title: texts.capStep, text: texts.capStepText, href: href('/keys') },
  ]
}
