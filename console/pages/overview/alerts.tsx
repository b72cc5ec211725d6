import { useSignal } from '@preact/signals'
import type { AlertView, OverviewView } from '../../../src/admin/contract.ts'
import { balanceState, isTooLittle } from '../../app/balance.ts'
import { money, now, relative } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { href, pathTo } from '../../app/router.ts'
import { isAdmin } from '../../app/session.ts'
import { Button, LinkButton, Note, RefusalHelp } from '../../kit/index.ts'
import { lastsText } from './runway.ts'

/** More than these are a list of their own. */
const SHOWN_MAX = 4

/** What stops everybody comes first, what only will stop somebody last. */
const SEVERITY: Readonly<Record<AlertView['kind'], number>> = {
  'channel-down': 0,
  'balance-empty': 1,
  'key-cap-reached': 2,
  'price-missing': 3,
  'balance-low': 4,
  'key-near-cap': 5,
}

const isRefusing = (alert: AlertView): boolean => alert.kind === 'balance-low' && isTooLittle(alert.balance)

const severityOf = (alert: AlertView): number => SEVERITY[isRefusing(alert) ? 'balance-empty' : alert.kind]

export function Alerts({ view: { alerts, account } }: { readonly view: OverviewView }) {
  const texts = t().overview
  const isWhole = useSignal(false)
  if (alerts.length === 0) return null
  const sorted = alerts.toSorted((a, b) => severityOf(a) - severityOf(b))
  const shown = isWhole.value ? sorted : sorted.slice(0, SHOWN_MAX)
  return (
    <section class="overview-alerts" aria-label={texts.alerts}>
      <ul class="stack tight">
        {shown.map(alert => (
          <li key={keyOf(alert)}>
            <Alert alert={alert} account={account} />
          </li>
        ))}
      </ul>
      {alerts.length > SHOWN_MAX && (
        <Button kind="quiet" size="small" onClick={() => (isWhole.value = !isWhole.value)}>
          {isWhole.value ? texts.alertsFewer : texts.alertsMore(alerts.length - SHOWN_MAX)}
        </Button>
      )}
    </section>
  )
}

function keyOf(alert: AlertView): string {
  switch (alert.kind) {
    case 'balance-empty':
    case 'balance-low':
      return `balance ${alert.account}`
    case 'key-cap-reached':
    case 'key-near-cap':
      return `key ${alert.key}`
    case 'channel-down':
      return `channel ${alert.channel}`
    case 'price-missing':
      return `model ${alert.model}`
  }
}

/** What it is, and the step that helps. */
function Alert({ alert, account }: { readonly alert: AlertView; readonly account: OverviewView['account'] }) {
  const texts = t().overview
  switch (alert.kind) {
    case 'balance-empty': {
      const balance = account?.id === alert.account ? balanceState(account) : 'empty'
      return <RefusalHelp refusal="balance" account={alert.account} name={alert.name} balance={balance} />
    }
    case 'key-cap-reached':
      return <RefusalHelp refusal="cap" keyId={alert.key} name={alert.name} />
    case 'balance-low':
      if (isRefusing(alert))
        return <RefusalHelp refusal="balance" account={alert.account} name={alert.name} balance="low" />
      return (
        <Note tone="warn" title={texts.lowTitle(alert.name)} action={<MoreMoney account={alert.account} />}>
          {alert.days === null
            ? texts.lowText(money(alert.balance))
            : texts.lowDays(money(alert.balance), lastsText(alert.days))}
        </Note>
      )
    case 'key-near-cap':
      return (
        <Note
          tone="warn"
          title={texts.nearCapTitle(alert.name)}
          action={
            <LinkButton href={href(pathTo('keys', alert.key), { raise: true })}>{t().refusal.raiseCap}</LinkButton>
          }
        >
          {texts.nearCapText(money(alert.spent), money(alert.cap))}
        </Note>
      )
    case 'channel-down':
      return (
        <Note
          tone="bad"
          title={texts.downTitle(alert.channel)}
          action={<LinkButton href={href(pathTo('channels', alert.channel))}>{texts.openChannel}</LinkButton>}
        >
          {texts.downText(sinceText(alert.since))}
          {alert.error !== null && <div class="overview-fault">{alert.error}</div>}
        </Note>
      )
    case 'price-missing':
      return (
        <Note
          tone="warn"
          title={texts.priceTitle(alert.model)}
          action={<LinkButton href={href(pathTo('models', alert.model))}>{texts.setPrice}</LinkButton>}
        >
          {texts.priceText}
        </Note>
      )
  }
}

const MINUTE_MS = 60_000

const sinceText = (since: string): string =>
  now.value - Date.parse(since) < MINUTE_MS ? t().overview.justNow : relative(since)

function MoreMoney({ account }: { readonly account: string }) {
  if (!isAdmin.value) return <LinkButton href={href('/billing', { redeem: true })}>{t().refusal.redeem}</LinkButton>
  return <LinkButton href={href('/billing', { topup: true, account })}>{t().refusal.topUp}</LinkButton>
}
