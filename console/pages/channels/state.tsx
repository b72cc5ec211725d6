import type { HealthView } from '../../../src/admin/contract.ts'
import { clockTime, duration, now, number, percent } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { Badge, Icon, type IconName, Time, type Tone } from '../../kit/index.ts'

export type State = HealthView['state']

const LOOKS: Readonly<Record<State, { readonly tone: Tone; readonly icon: IconName }>> = {
  healthy: { tone: 'good', icon: 'check' },
  degraded: { tone: 'warn', icon: 'warning' },
  down: { tone: 'bad', icon: 'close' },
  paused: { tone: 'neutral', icon: 'pause' },
  unused: { tone: 'neutral', icon: 'clock' },
}

/** An icon, a word and a colour: each says it alone. */
export function StateBadge({ state }: { readonly state: State }) {
  const { tone, icon } = LOOKS[state]
  return (
    <Badge tone={tone} title={t().channels.stateMeaning[state]}>
      <Icon name={icon} size={12} />
      {t().channels.states[state]}
    </Badge>
  )
}

/** Since when it is so, or what was last heard of it. */
export function Since({ health }: { readonly health: HealthView }) {
  const texts = t().channels.since
  switch (health.state) {
    case 'down':
      if (health.breaker !== 'closed') return <>{restText(health, texts)}</>
      return <Moment label={texts.down} at={health.down_since ?? health.last_error_at} />
    case 'degraded':
      return <Moment label={texts.degraded} at={health.last_error_at} />
    case 'healthy':
      return <Moment label={texts.healthy} at={health.last_ok_at} />
    case 'unused':
      return <>{texts.unused}</>
    case 'paused':
      return <>{texts.paused}</>
  }
}

/** What is said of one that is left alone, or waits for the request that finds out. */
export interface RestTexts {
  readonly resting: (until: string) => string
  readonly waiting: string
  readonly refused: (until: string) => string
  readonly refusedWaiting: string
}

/** A rest may end while nobody asks the server. */
export function restText({ rests_until, refused }: HealthView, texts: RestTexts): string {
  if (rests_until === null || Date.parse(rests_until) <= Math.max(now.value, Date.now()))
    return refused ? texts.refusedWaiting : texts.waiting
  return refused ? texts.refused(clockTime(rests_until)) : texts.resting(clockTime(rests_until))
}

function Moment({ label, at }: { readonly label: string; readonly at: string | null }) {
  return at === null ? null : (
    <>
      {label} <Time at={at} />
    </>
  )
}

export function StateCell({ health }: { readonly health: HealthView }) {
  return (
    <span class="channels-state">
      <StateBadge state={health.state} />
      <small>
        <Since health={health} />
      </small>
    </span>
  )
}

interface Traffic {
  readonly requests: number
  readonly errors: number
}

export const errorShare = ({ requests, errors }: Traffic): number => (requests === 0 ? 0 : errors / requests)

/** From here on a share of failures is worth a colour. */
const ERRORS_WARN = 0.05
const ERRORS_BAD = 0.2

export const errorTone = (traffic: Traffic): 'neutral' | 'warn' | 'bad' => {
  const share = errorShare(traffic)
  return share >= ERRORS_BAD ? 'bad' : share >= ERRORS_WARN ? 'warn' : 'neutral'
}

/** How many there were, and how many of them failed. */
export function TrafficCell({ traffic }: { readonly traffic: Traffic }) {
  if (traffic.requests === 0) return <span class="faint">–</span>
  return (
    <span class="channels-traffic">
      <span>{number(traffic.requests)}</span>
      <small class={`channels-errors ${errorTone(traffic)}`}>{t().channels.failed(percent(errorShare(traffic)))}</small>
    </span>
  )
}

export const msOr = (ms: number | null): string => (ms === null ? '–' : duration(ms))

/** The middle one and a slow one of twenty. */
export const pair = (p50: number | null, p95: number | null): string => `${msOr(p50)} / ${msOr(p95)}`
