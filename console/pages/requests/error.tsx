import type { UsageReceiptView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { href, pathTo } from '../../app/router.ts'
import { isAdmin } from '../../app/session.ts'
import { Code, LinkButton, moneyRefusalOf, Note, Part, RefusalHelp } from '../../kit/index.ts'

/** The error in full, and what helps. Of the two 403s about money it says which one it is. */
export function WhatWentWrong({ request }: { readonly request: UsageReceiptView }) {
  const texts = t().requests
  const refusal = moneyRefusalOf(request.status)
  const help = (texts.helps as Readonly<Record<string, string>>)[request.status]
  return (
    <Part title={texts.errorTitle}>
      {refusal && <RefusalHelp refusal={refusal} keyId={request.key} account={request.account} />}
      <div class="stack tight">
        {!refusal && (
          <p>
            <code>{request.status}</code>
          </p>
        )}
        {request.error === null ? (
          <p class="faint">{texts.noErrorText}</p>
        ) : (
          <Code text={request.error} label={texts.errorFull} isWrapped isLow />
        )}
      </div>
      {help && <Note action={<Step request={request} />}>{help}</Note>}
    </Part>
  )
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

function Step({ request: { status, key, channel } }: { readonly request: UsageReceiptView }) {
  const texts = t().requests.helpSteps
  if (status === 'model_not_found' || status === 'model_price_unknown') {
    return <LinkButton href={href('/models')}>{texts.models}</LinkButton>
  }
  if (status === 'model_not_allowed') return <LinkButton href={href(pathTo('keys', key))}>{texts.key}</LinkButton>
  if (isAdmin.value && status.startsWith('upstream_')) {
    const where = channel === '' ? '/channels' : pathTo('channels', channel)
    return <LinkButton href={href(where)}>{texts.channels}</LinkButton>
  }
  return null
}
