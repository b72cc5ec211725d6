import type { OverviewView } from '../../../src/admin/contract.ts'
import { type BalanceState, balanceHint, balanceState } from '../../app/balance.ts'
import { compare, isZero } from '../../app/decimal.ts'
import { decimalsFor, duration, money, number, percent } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { href, query } from '../../app/router.ts'
import { Money, Section, Stat, Stats } from '../../kit/index.ts'
import { lastsText } from './runway.ts'

interface Viewed {
  readonly view: OverviewView
}

const FEW_DAYS = 7
const FEW_DOLLARS = '1'

export function MoneyNumbers({ view }: Viewed) {
  const texts = t().overview
  const { account, balance, today, days_7, days_30 } = view
  const decimals = decimalsFor([balance, today.cost, days_7.cost, days_30.cost])
  return (
    <section aria-label={texts.money}>
      <Stats>
        <Stat
          label={account ? texts.balance : texts.balanceOfAll}
          href={href('/billing', { account: account?.id === undefined ? null : account.id })}
          value={<Money amount={balance} decimals={decimals} />}
          tone={toneOf(view)}
          hint={<Runway view={view} />}
        />
        <Spent label={texts.spentToday} sums={today} decimals={decimals} />
        <Spent label={texts.spent7} sums={days_7} decimals={decimals} />
        <Spent label={texts.spent30} sums={days_30} decimals={decimals} />
      </Stats>
    </section>
  )
}

/** Of all accounts together nobody knows whether there ever was money, and no newcomer looks at them. */
const stateOf = ({ account, balance }: OverviewView): BalanceState => balanceState(account ?? { balance, spent: '1' })

function toneOf(view: OverviewView): 'neutral' | 'warn' | 'bad' {
  const { balance, runway_days: days } = view
  const state = stateOf(view)
  if (state === 'empty' || state === 'none') return 'bad'
  return compare(balance, FEW_DOLLARS) < 0 || (days !== null && days < FEW_DAYS) ? 'warn' : 'neutral'
}

function Runway({ view }: Viewed) {
  const texts = t().overview
  const { held, runway_days: days } = view
  const hint = balanceHint(stateOf(view))
  if (hint) return <>{hint}</>
  return (
    <>
      <span title={texts.paceTitle}>{days === null ? texts.noPace : lastsText(days)}</span>
      {!isZero(held) && <span class="overview-held">{texts.heldToo(money(held))}</span>}
    </>
  )
}

interface SpentProps {
  readonly label: string
  readonly sums: OverviewView['today']
  readonly decimals: number
}

function Spent({ label, sums, decimals }: SpentProps) {
  return (
    <Stat
      label={label}
      title={t().overview.utc}
      value={<Money amount={sums.cost} decimals={decimals} />}
      hint={<Counts {...sums} />}
    />
  )
}

/** What failed is somebody's fault here; what was refused is mostly the caller's, and no alarm. */
function Counts({ requests, errors, refused }: OverviewView['today']) {
  const texts = t().overview
  if (requests === 0) return <>{texts.noRequests}</>
  return (
    <span class="overview-counts">
      <span>{texts.requests(requests, number(requests))}</span>
      {errors > 0 && (
        <span class="overview-errors">{texts.errors(errors, number(errors), percent(errors / requests))}</span>
      )}
      {refused > 0 && (
        <a href={href('/requests', { status: 'error', account: query.value.get('account') })}>
          {texts.refused(number(refused))}
        </a>
      )}
    </span>
  )
}

export function SpeedNumbers({ view: { latency, days } }: Viewed) {
  const texts = t().overview
  const inRange = texts.inRange[days]
  const { sample } = latency
  return (
    <Section
      title={texts.speed}
      text={sample === 0 ? texts.notMeasured(inRange) : texts.measuredOn(sample, number(sample), inRange)}
    >
      <Stats>
        <Speed label={texts.latency50} hint={texts.half} ms={latency.p50_ms} />
        <Speed label={texts.latency95} hint={texts.most} ms={latency.p95_ms} />
        <Speed label={texts.first50} hint={texts.half} ms={latency.first_byte_p50_ms} />
        <Speed label={texts.first95} hint={texts.most} ms={latency.first_byte_p95_ms} />
      </Stats>
    </Section>
  )
}

function Speed({ label, hint, ms }: { readonly label: string; readonly hint: string; readonly ms: number | null }) {
  return ms === null ? (
    <Stat label={label} value={<span class="faint">–</span>} />
  ) : (
    <Stat label={label} value={duration(ms)} hint={hint} />
  )
}
