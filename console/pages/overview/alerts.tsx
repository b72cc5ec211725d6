import { useSignal } from '@preact/signals'
import type { AlertView } from '../../../src/admin/contract.ts'
import { money, relative } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { href, pathTo } from '../../app/router.ts'
import { isAdmin } from '../../app/session.ts'
import { Button, LinkButton, Note, RefusalHelp } from '../../kit/index.ts'
import { lastsText } from './runway.ts'

/** More than these are a list of their own. */
const SHOWN_MAX = 4

export function Alerts({ alerts }: { readonly alerts: readonly AlertView[] }) {
  const texts = t().overview
  const isWhole = useSignal(false)
  if (alerts.length === 0) return null
  const shown = isWhole.value ? alerts : alerts.slice(0, SHOWN_MAX)
  return (
    <section class="overview-alerts" aria-label={texts.alerts}>
      <ul class="stack tight">
        {shown.map(alert => (
          <li key={keyOf(alert)}>
            <Alert alert={alert} />
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
function Alert({ alert }: { readonly alert: AlertView }) {
  const texts = t().overview
  switch (alert.kind) {
    case 'balance-empty':
      return <RefusalHelp refusal="balance" account={alert.account} name={alert.name} />
    case 'key-cap-reached':
      return <RefusalHelp refusal="cap" keyId={alert.key} name={alert.name} />
    case 'balance-low':
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
          {texts.downText(relative(alert.since))}
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

function MoreMoney({ account }: { readonly account: string }) {
  if (!isAdmin.value) return <LinkButton href={href('/billing', { redeem: true })}>{t().refusal.redeem}</LinkButton>
  return <LinkButton href={href('/billing', { topup: true, account })}>{t().refusal.topUp}</LinkButton>
}
