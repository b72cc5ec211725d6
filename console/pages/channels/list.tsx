import { useSignal } from '@preact/signals'
import type { ChannelView } from '../../../src/admin/contract.ts'
import { number } from '../../app/format.ts'
import { useShortcuts } from '../../app/keys.ts'
import { t } from '../../app/language.ts'
import { go, href, pathTo, query } from '../../app/router.ts'
import { session } from '../../app/session.ts'
import {
  type Column,
  Empty,
  FilterBar,
  LinkButton,
  Load,
  Menu,
  Note,
  PageHeader,
  QuerySearch,
  QuerySelect,
  Table,
} from '../../kit/index.ts'
import { type Channels, removeChannel, setPaused } from './actions.ts'
import { isSandboxOnly, OriginBadge } from './origin.tsx'
import { ReloadButton } from './reload.tsx'
import { errorShare, pair, StateCell, TrafficCell } from './state.tsx'
import { TestDialog } from './test.tsx'

const STATES = ['healthy', 'degraded', 'down', 'paused', 'unused'] as const
const FILTERS = ['q', 'state', 'model']

export function ChannelList({ channels }: { readonly channels: Channels }) {
  const texts = t().channels
  const tested = useSignal<ChannelView | null>(null)
  useShortcuts({ n: () => go('/channels/new') })
  return (
    <>
      <PageHeader
        title={t().nav.channels}
        text={session.value?.is_replicated ? `${texts.intro} ${texts.ofOneReplica}` : texts.intro}
        actions={
          <>
            <ReloadButton />
            <LinkButton kind="primary" icon="plus" href={href('/channels/new')}>
              {texts.add}
            </LinkButton>
          </>
        }
      />
      <Load resource={channels}>
        {({ data }) => (
          <>
            <SandboxNote channels={data} />
            <Filters channels={data} />
            <Table
              caption={t().nav.channels}
              rows={data.filter(isWanted)}
              columns={columnsFor(channels, channel => {
                tested.value = channel
              })}
              keyOf={channel => channel.name}
              hrefOf={channel => href(pathTo('channels', channel.name))}
              isFaint={channel => channel.paused}
              empty={<Nothing isFiltered={data.length > 0} />}
            />
          </>
        )}
      </Load>
      {tested.value && (
        <TestDialog
          channel={tested.value}
          onClose={() => {
            tested.value = null
          }}
        />
      )}
    </>
  )
}

/** Until there is a real upstream, answers are made up; that must not be missed. */
function SandboxNote({ channels }: { readonly channels: readonly ChannelView[] }) {
  const texts = t().channels.sandbox
  if (!isSandboxOnly(channels)) return null
  return (
    <div class="channels-sandbox">
      <Note
        tone="accent"
        title={texts.title}
        action={
          <LinkButton size="small" href={href('/channels/new')}>
            {t().channels.add}
          </LinkButton>
        }
      >
        {texts.text}
      </Note>
    </div>
  )
}

function Filters({ channels }: { readonly channels: readonly ChannelView[] }) {
  const texts = t().channels
  const models = [...new Set(channels.flatMap(channel => Object.keys(channel.models)))].sort()
  return (
    <FilterBar names={FILTERS}>
      <QuerySearch name="q" label={texts.search} />
      <QuerySelect
        name="state"
        label={t().common.status}
        all={texts.allStates}
        options={STATES.map(state => ({ value: state, label: texts.states[state] }))}
      />
      <QuerySelect
        name="model"
        label={texts.model}
        all={texts.allModels}
        options={models.map(id => ({ value: id, label: id }))}
      />
    </FilterBar>
  )
}

function isWanted({ name, base_url, vendor, models, health }: ChannelView): boolean {
  const words = (query.value.get('q') ?? '').toLowerCase()
  const state = query.value.get('state')
  const model = query.value.get('model')
  if (state && health.state !== state) return false
  if (model && !Object.hasOwn(models, model)) return false
  return [name, base_url, vendor ?? ''].some(text => text.toLowerCase().includes(words))
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }) {
  const texts = t().channels
  if (isFiltered) return <Empty icon="filter" title={texts.noMatch} text={texts.noMatchText} />
  return (
    <Empty
      icon="channels"
      title={texts.empty}
      text={texts.emptyText}
      action={
        <LinkButton kind="primary" icon="plus" href={href('/channels/new')}>
          {texts.add}
        </LinkButton>
      }
    />
  )
}

function columnsFor(channels: Channels, test: (channel: ChannelView) => void): Column<ChannelView>[] {
  const texts = t().channels
  return [
    {
      id: 'name',
      title: texts.channel,
      cell: channel => <NameCell channel={channel} />,
      compare: (a, b) => a.name.localeCompare(b.name),
    },
    {
      id: 'state',
      title: t().common.status,
      cell: ({ health }) => <StateCell health={health} />,
      compare: (a, b) => STATES.indexOf(a.health.state) - STATES.indexOf(b.health.state),
    },
    {
      id: 'protocol',
      title: texts.protocol,
      cell: ({ protocol }) => <span title={texts.protocols[protocol]}>{texts.shortProtocols[protocol]}</span>,
      isMinor: true,
    },
    {
      id: 'models',
      title: t().nav.models,
      cell: ({ models }) => <ModelCount ids={Object.keys(models)} />,
      isNumeric: true,
      isMinor: true,
      compare: (a, b) => Object.keys(a.models).length - Object.keys(b.models).length,
    },
    {
      id: 'order',
      title: texts.order,
      cell: ({ priority, weight }) => <span title={texts.orderHint}>{`${number(priority)} · ${number(weight)}`}</span>,
      isNumeric: true,
      isMinor: true,
      compare: (a, b) => a.priority - b.priority || b.weight - a.weight,
    },
    {
      id: 'latency',
      title: texts.latency,
      cell: ({ health }) => pair(health.p50_ms, health.p95_ms),
      isNumeric: true,
      compare: (a, b) => (a.health.p50_ms ?? 0) - (b.health.p50_ms ?? 0),
    },
    {
      id: 'day',
      title: texts.lastDay,
      cell: ({ last_day }) => <TrafficCell traffic={last_day} />,
      isNumeric: true,
      compare: (a, b) => errorShare(a.last_day) - errorShare(b.last_day) || a.last_day.requests - b.last_day.requests,
    },
    {
      id: 'actions',
      title: t().common.actions,
      isActions: true,
      cell: channel => <Actions channels={channels} channel={channel} test={() => test(channel)} />,
    },
  ]
}

function NameCell({ channel: { name, origin, base_url } }: { readonly channel: ChannelView }) {
  return (
    <span class="channels-name">
      <span class="channels-name-line">
        <span class="truncate" title={name}>
          {name}
        </span>
        <OriginBadge origin={origin} />
      </span>
      <small class="truncate mono" title={base_url}>
        {base_url.replace(/^https?:\/\//, '')}
      </small>
    </span>
  )
}

/** So many ids fit into a title. */
const TITLE_IDS_MAX = 30

function ModelCount({ ids }: { readonly ids: readonly string[] }) {
  return <span title={ids.slice(0, TITLE_IDS_MAX).join('\n')}>{number(ids.length)}</span>
}

interface ActionsProps {
  readonly channels: Channels
  readonly channel: ChannelView
  readonly test: () => void
}

function Actions({ channels, channel, test }: ActionsProps) {
  const texts = t().channels
  const isOwn = channel.origin === 'console'
  return (
    <Menu
      label={texts.actionsOf(channel.name)}
      items={[
        {
          label: texts.test.action,
          icon: 'bolt',
          onSelect: test,
          isDisabled: Object.keys(channel.models).length === 0,
        },
        channel.paused
          ? { label: texts.resume, icon: 'playground', onSelect: () => setPaused(channels, channel, false) }
          : { label: texts.pause, icon: 'pause', onSelect: () => setPaused(channels, channel, true) },
        isOwn && { label: t().common.edit, icon: 'edit', href: href(pathTo('channels', channel.name), { edit: true }) },
        isOwn && {
          label: t().common.delete,
          icon: 'trash',
          isDangerous: true,
          onSelect: () => removeChannel(channels, channel),
        },
      ]}
    />
  )
}
