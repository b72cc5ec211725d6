import type { UsageView } from '../../../src/admin/contract.ts'
import { compact, decimalsFor, duration, number } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { href, pathTo, query } from '../../app/router.ts'
import { Badge, type Column, Empty, LinkButton, Money, moneyRefusalOf, Section, Table, Time } from '../../kit/index.ts'

export function Recent({ rows }: { readonly rows: readonly UsageView[] }) {
  const texts = t().overview
  return (
    <Section
      title={texts.recent}
      text={rows.length > 0 && texts.recentText}
      actions={
        rows.length > 0 && (
          <LinkButton kind="quiet" icon="requests" href={href('/requests', { account: query.value.get('account') })}>
            {texts.allRequests}
          </LinkButton>
        )
      }
    >
      <Table
        caption={texts.recent}
        rows={rows}
        columns={columns(decimalsFor(rows.map(({ cost }) => cost)))}
        keyOf={row => row.request_id}
        hrefOf={row => href(pathTo('requests', row.request_id))}
        empty={
          <Empty
            icon="requests"
            title={texts.noRecent}
            text={texts.noRecentText}
            action={<LinkButton href={href('/playground')}>{texts.openPlayground}</LinkButton>}
          />
        }
      />
    </Section>
  )
}

function columns(decimals: number): readonly Column<UsageView>[] {
  const texts = t().overview
  return [
    { id: 'time', title: texts.time, cell: row => <Time at={row.started_at} /> },
    { id: 'model', title: texts.model, cell: row => <Name name={row.model || '–'} /> },
    { id: 'key', title: texts.key, isMinor: true, cell: row => <Name name={row.key_name} /> },
    { id: 'status', title: t().common.status, cell: row => <Status status={row.status} /> },
    { id: 'tokens', title: texts.tokens, isNumeric: true, isMinor: true, cell: row => <Tokens row={row} /> },
    { id: 'cost', title: texts.cost, isNumeric: true, cell: row => <Money amount={row.cost} decimals={decimals} /> },
    { id: 'duration', title: texts.duration, isNumeric: true, cell: row => duration(row.duration_ms) },
  ]
}

/** Long ones are cut, and whole for those who point at them. */
const Name = ({ name }: { readonly name: string }) => (
  <span class="overview-name" title={name}>
    {name}
  </span>
)

function Status({ status }: { readonly status: string }) {
  const texts = t().overview
  if (status === 'ok') return <Badge tone="good">{texts.ok}</Badge>
  const refusal = moneyRefusalOf(status)
  if (!refusal) return <Badge tone="bad">{status}</Badge>
  return (
    <Badge tone="warn" title={status}>
      {refusal === 'balance' ? texts.refusedBalance : texts.refusedCap}
    </Badge>
  )
}

function Tokens({ row: { tokens } }: { readonly row: UsageView }) {
  const input = tokens.input + tokens.cache_read + tokens.cache_write
  if (input + tokens.output === 0) return <span class="faint">–</span>
  return (
    <span title={t().overview.tokensTitle(number(input), number(tokens.output))}>
      {compact(input)} → {compact(tokens.output)}
    </span>
  )
}
