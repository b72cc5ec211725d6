import type { OverviewView } from '../../../src/admin/contract.ts'
import { compare, isNegative, isZero } from '../../app/decimal.ts'
import { duration, money, number, percent } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { href } from '../../app/router.ts'
import { Money, Section, Stat, Stats } from '../../kit/index.ts'
import { lastsText } from './runway.ts'

interface Viewed {
  readonly view: OverviewView
}

const FEW_DAYS = 7
const FEW_DOLLARS = '1'

export function MoneyNumbers({ view }: Viewed) {
  const texts = t().overview
  const { account, balance } = view
  return (
    <section aria-label={texts.money}>
      <Stats>
        <Stat
          label={account ? texts.balance : texts.balanceOfAll}
          href={href('/billing', { account: account?.id === undefined ? null : account.id })}
          value={<Money amount={balance} />}
          tone={toneOf(view)}
          hint={<Runway view={view} />}
        />
        <Spent label={texts.spentToday} sums={view.today} />
        <Spent label={texts.spent7} sums={view.days_7} />
        <Spent label={texts.spent30} sums={view.days_30} />
      </Stats>
    </section>
  )
}

function toneOf({ balance, runway_days: days }: OverviewView): 'neutral' | 'warn' | 'bad' {
  if (isZero(balance) || isNegative(balance)) return 'bad'
  return compare(balance, FEW_DOLLARS) < 0 || (days !== null && days < FEW_DAYS) ? 'warn' : 'neutral'
}

function Runway({ view: { balance, held, runway_days: days } }: Viewed) {
  const texts = t().overview
  const isEmpty = isZero(balance) || isNegative(balance)
  if (isEmpty) return <>{t().layout.balanceEmpty}</>
  return (
    <>
      <span title={texts.paceTitle}>{days === null ? texts.noPace : lastsText(days)}</span>
      {!isZero(held) && <span class="overview-held">{texts.heldToo(money(held))}</span>}
    </>
  )
}

function Spent({ label, sums }: { readonly label: string; readonly sums: OverviewView['today'] }) {
  return (
    <Stat label={label} title={t().overview.utc} value={<Money amount={sums.cost} />} hint={<Counts {...sums} />} />
  )
}

function Counts({ requests, errors }: OverviewView['today']) {
  const texts = t().overview
  if (requests === 0) return <>{texts.noRequests}</>
  return (
    <span class="overview-counts">
      <span>{texts.requests(requests, number(requests))}</span>
      {errors > 0 && (
        <span class="overview-errors">{texts.errors(errors, number(errors), percent(errors / requests))}</span>
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
