import type { UsageReceiptView } from '../../../src/admin/contract.ts'
import { isNegative, isZero } from '../../app/decimal.ts'
import { exactMoney } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { href, pathTo } from '../../app/router.ts'
import { isAdmin } from '../../app/session.ts'
import { Code, LinkButton, type MoneyRefusal, moneyRefusalOf, Note, Part, RefusalHelp } from '../../kit/index.ts'
import { readAmounts } from './refusal.ts'
import { isUnserved } from './status.tsx'

/** The error in full, and what helps. Of the two 403s about money it says which one it is. */
export function WhatWentWrong({ request }: { readonly request: UsageReceiptView }) {
  const texts = t().requests
  const refusal = moneyRefusalOf(request.status)
  const help = helpFor(request)
  return (
    <Part title={texts.errorTitle}>
      {refusal && <MoneyHelp refusal={refusal} request={request} />}
      <div class="stack tight">
        {!refusal && (
          <p>
            <code>{request.status}</code>
          </p>
        )}
        {request.error === null ? (
          <p class="faint">{texts.noErrorText}</p>
        ) : (
          <>
            <p class="small faint">{texts.errorFull}</p>
            <Code text={request.error} label={texts.errorFull} isWrapped isLow />
          </>
        )}
      </div>
      {help && <Note action={<Step request={request} />}>{help}</Note>}
    </Part>
  )
}

/** In the reader's own language, with the amounts: "used up" and "reached" only where nothing was left. */
function MoneyHelp({ refusal, request }: { readonly refusal: MoneyRefusal; readonly request: UsageReceiptView }) {
  const texts = t().requests.refused[refusal]
  const amounts = readAmounts(request.error)
  const usedUp = refusal === 'cap' ? t().refusal.capTitle : t().refusal.balanceTitle
  const isSomething = amounts !== undefined && !isZero(amounts.had) && !isNegative(amounts.had)
  return (
    <RefusalHelp
      refusal={refusal}
      keyId={request.key}
      account={request.account}
      {...(amounts ? { title: isSomething ? texts.title : usedUp } : {})}
    >
      {amounts && texts.had(exactMoney(amounts.had))}{' '}
      {amounts?.needed && t().requests.refused.needed(exactMoney(amounts.needed))}
    </RefusalHelp>
  )
}

function helpFor({ status, model }: UsageReceiptView): string | undefined {
  const texts = t().requests
  if (isUnserved(status, model)) return isAdmin.value ? texts.unservedAdmin : texts.unservedMember
  return (texts.helps as Readonly<Record<string, string>>)[status]
}

/** The record does not say which of the two purses it was, so both are offered. */
export function CutByFunds({ request: { key, account } }: { readonly request: UsageReceiptView }) {
  const texts = t().requests
  return (
    <Note
      tone="warn"
      title={texts.fundsTitle}
      action={
        <div class="row">
          <LinkButton href={href(pathTo('keys', key))}>{texts.fundsCap}</LinkButton>
          <LinkButton href={href('/billing', { account: isAdmin.value ? account : null })}>
            {texts.fundsBalance}
          </LinkButton>
        </div>
      }
    >
      {texts.fundsText}
    </Note>
  )
}

function Step({ request: { status, model, key, channel } }: { readonly request: UsageReceiptView }) {
  const texts = t().requests.helpSteps
  if (isUnserved(status, model)) {
    return isAdmin.value ? <LinkButton href={href('/channels/new')}>{texts.addChannel}</LinkButton> : null
  }
  if (status === 'model_not_found' || status === 'model_price_unknown') {
    return <LinkButton href={href('/models')}>{texts.models}</LinkButton>
  }
  if (status === 'model_not_allowed' || status === 'rate_limited') {
    return <LinkButton href={href(pathTo('keys', key))}>{texts.key}</LinkButton>
  }
  if (isAdmin.value && status.startsWith('upstream_')) {
    const where = channel === '' ? '/channels' : pathTo('channels', channel)
    return <LinkButton href={href(where)}>{texts.channels}</LinkButton>
  }
  return null
}
