import type { UsageView } from '../../../src/admin/contract.ts'
import { clockTime, compact, dateTime, duration, now, number, tick } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { href, query } from '../../app/router.ts'
import { isAdmin } from '../../app/session.ts'
import { Badge, type Column, Icon, Money } from '../../kit/index.ts'
import { accountName, hasAccounts } from './accounts.ts'
import { RequestStatus } from './status.tsx'

export function requestColumns(): readonly Column<UsageView>[] {
  const texts = t().requests
  return [
    { id: 'time', title: texts.time, cell: row => <Moment at={row.started_at} /> },
    { id: 'status', title: t().common.status, cell: row => <Outcome row={row} /> },
    { id: 'model', title: texts.model, cell: row => <Clipped text={row.model} look="requests-model" /> },
    { id: 'key', title: texts.key, cell: row => <Key row={row} /> },
    { id: 'protocol', title: texts.protocol, isMinor: true, cell: row => <Spoken row={row} /> },
    { id: 'tokens', title: texts.tokensInOut, isNumeric: true, cell: row => <Tokens tokens={row.tokens} /> },
    { id: 'cost', title: texts.cost, isNumeric: true, cell: row => <Money amount={row.cost} /> },
    // There is no room for both: admins ask who answered first, and the first token is in the detail.
    ...(isAdmin.value ? [] : [firstTokenColumn()]),
    { id: 'total', title: texts.total, isNumeric: true, cell: row => duration(row.duration_ms) },
    ...(isAdmin.value ? [channelColumn()] : []),
  ]
}

/** How it ended, and whether more than one upstream was needed for it. */
function Outcome({ row: { status, model, attempts } }: { readonly row: UsageView }) {
  const text = t().requests.tookAttempts(attempts)
  return (
    <span class="requests-outcome">
      <RequestStatus status={status} model={model} />
      {attempts > 1 && (
        <span class="faint" title={text}>
          <Icon name="refresh" size={12} />
          <span class="hidden-text">{text}</span>
        </span>
      )}
    </span>
  )
}

const firstTokenColumn = (): Column<UsageView> => ({
  id: 'ttft',
  title: t().requests.ttft,
  isNumeric: true,
  isMinor: true,
  cell: row => (row.first_byte_ms === null ? <span class="faint">–</span> : duration(row.first_byte_ms)),
})

const channelColumn = (): Column<UsageView> => ({
  id: 'channel',
  title: t().requests.channel,
  isMinor: true,
  cell: row => (row.channel ? <Clipped text={row.channel} look="requests-channel" /> : <span class="faint">–</span>),
})

/** The time of today, and the day too of any other: in a log seconds matter. */
function Moment({ at }: { readonly at: string }) {
  const isToday = new Date(at).toDateString() === new Date(Math.max(now.value, Date.now())).toDateString()
  return (
    <time dateTime={at} title={dateTime(at)} class="requests-time">
      {isToday ? clockTime(at) : `${tick(at, 'day')}, ${clockTime(at)}`}
    </time>
  )
}

function Clipped({ text, look }: { readonly text: string; readonly look: string }) {
  return (
    <span class={`truncate ${look}`} title={text}>
      {text}
    </span>
  )
}

/** Leads to what else was asked with it, also where the key itself is gone; and says whose it is where that is open. */
function Key({ row }: { readonly row: UsageView }) {
  const { cursor: _cursor, ...filters } = Object.fromEntries(query.value)
  const name = row.key_name || row.key
  return (
    <span class="requests-key">
      {filters.key === row.key ? (
        <span class="truncate" title={name}>
          {name}
        </span>
      ) : (
        <a
          class="truncate"
          href={href('/requests', { ...filters, key: row.key })}
          title={t().requests.onlyKey(name)}
          aria-label={t().requests.onlyKey(name)}
        >
          {name}
        </a>
      )}
      {hasAccounts() && !filters.account && (
        <span class="truncate small faint" title={accountName(row.account)}>
          {accountName(row.account)}
        </span>
      )}
    </span>
  )
}

export function ProtocolBadge({ protocol }: { readonly protocol: UsageView['protocol'] }) {
  const texts = t().requests
  return (
    <Badge title={texts.protocols[protocol]} tone={protocol === 'chat' ? 'accent' : 'neutral'}>
      <span aria-hidden="true" class="requests-letter">
        {texts.protocolLetters[protocol]}
      </span>
      <span aria-hidden="true" class="requests-word">
        {texts.protocolWords[protocol]}
      </span>
      <span class="hidden-text">{texts.protocols[protocol]}</span>
    </Badge>
  )
}

/** In / out, and how much of the output was thought rather than said. */
function Tokens({ tokens }: { readonly tokens: UsageView['tokens'] }) {
  const input = tokens.input + tokens.cache_read + tokens.cache_write
  const texts = t().requests
  const title = texts.tokensTitle(number(input), number(tokens.output), number(tokens.reasoning))
  if (input + tokens.output === 0) return <span class="faint">–</span>
  return (
    <span title={title}>
      <span aria-hidden="true">
        {compact(input)} / {compact(tokens.output)}
        {tokens.reasoning > 0 && <span class="faint"> ({compact(tokens.reasoning)})</span>}
      </span>
      <span class="hidden-text">{title}</span>
    </span>
  )
}

/** The protocol by its letter, and a bolt if the answer was streamed. */
function Spoken({ row: { protocol, stream } }: { readonly row: UsageView }) {
  const text = stream ? t().requests.streamed : t().requests.notStreamed
  return (
    <span class="requests-spoken">
      <ProtocolBadge protocol={protocol} />
      <span class="faint" title={text}>
        {stream && <Icon name="bolt" size={14} />}
        <span class="hidden-text">{text}</span>
      </span>
    </span>
  )
}
