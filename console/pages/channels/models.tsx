import type { ChannelView } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { href, pathTo } from '../../app/router.ts'
import { type Column, Empty, Section, Table } from '../../kit/index.ts'

interface Served {
  readonly id: string
  readonly upstream: string
  readonly capabilities: Readonly<Record<string, unknown>>
}

/** What a channel serves, under which names, and what each of them can be given. */
export function ServedModels({ channel }: { readonly channel: ChannelView }) {
  const texts = t().channels.models
  const rows = Object.entries(channel.models).map(([id, upstream]) => ({
    ...{ id, upstream },
    capabilities: channel.capabilities[id] ?? {},
  }))
  return (
    <Section title={t().nav.models} text={texts.text}>
      <Table
        caption={t().nav.models}
        rows={rows}
        columns={columns()}
        keyOf={({ id }) => id}
        empty={<Empty icon="models" title={texts.empty} text={texts.emptyText} />}
      />
    </Section>
  )
}

function columns(): Column<Served>[] {
  const texts = t().channels.models
  return [
    {
      id: 'id',
      title: texts.id,
      cell: ({ id }) => (
        <a class="mono channels-anywhere" href={href(pathTo('models', id))}>
          {id}
        </a>
      ),
    },
    {
      id: 'upstream',
      title: texts.upstream,
      cell: ({ upstream }) => <span class="mono channels-anywhere">{upstream}</span>,
    },
    {
      id: 'capabilities',
      title: texts.capabilities,
      cell: served => <CapabilityList served={served} />,
    },
  ]
}

function CapabilityList({ served: { capabilities } }: { readonly served: Served }) {
  const entries = Object.entries(capabilities)
  if (entries.length === 0) return <span class="faint">–</span>
  return (
    <details class="channels-more channels-capabilities">
      <summary>{t().channels.models.show(entries.length)}</summary>
      <dl>
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{wordOf(value)}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

function wordOf(value: unknown): string {
  if (typeof value === 'boolean') return value ? t().channels.models.yes : t().channels.models.no
  return Array.isArray(value) ? value.join(', ') : String(value ?? '–')
}
