import type { ModelView } from '../../../src/admin/contract.ts'
import { compare } from '../../app/decimal.ts'
import { compact, exactMoney, money, number } from '../../app/format.ts'
import { useShortcuts } from '../../app/keys.ts'
import { t } from '../../app/language.ts'
import { go, href, pathTo, query } from '../../app/router.ts'
import { isAdmin } from '../../app/session.ts'
import {
  Badge,
  type Column,
  CopyIcon,
  Empty,
  FilterBar,
  LinkButton,
  Load,
  Note,
  PageHeader,
  QuerySearch,
  QuerySelect,
  Table,
} from '../../kit/index.ts'
import { OriginBadge } from '../channels/origin.tsx'
import { TrafficCell } from '../channels/state.tsx'
import type { Models } from './actions.ts'
import { Flags } from './flags.tsx'
import { isUnserved } from './served.ts'

const FILTERS = ['q', 'vendor', 'only', 'channel']

type Only = 'recommended' | 'reasoning' | 'images' | 'unpriced' | 'unserved' | 'off'

const ONLY: Readonly<Record<Only, (model: ModelView) => boolean>> = {
  recommended: model => model.recommended,
  reasoning: model => model.reasoning,
  images: model => model.images === 'forward',
  unpriced: model => model.price === null,
  unserved: isUnserved,
  off: model => !model.enabled,
}

/** What only those who define the catalog know or care about. */
const FOR_ADMINS: readonly Only[] = ['unserved', 'off']

interface ModelListProps {
  readonly models: Models
  readonly currentId: string | undefined
}

export function ModelList({ models, currentId }: ModelListProps) {
  const texts = t().models
  useShortcuts(isAdmin.value ? { n: () => go('/models/new') } : {})
  return (
    <>
      <PageHeader
        title={t().nav.models}
        text={texts.intro}
        actions={
          isAdmin.value && (
            <LinkButton kind="primary" icon="plus" href={href('/models/new')}>
              {texts.add}
            </LinkButton>
          )
        }
      />
      <Load resource={models}>
        {({ data }) => (
          <>
            {isAdmin.value && <UnservedNote count={data.filter(isUnserved).length} />}
            <Filters models={data} />
            <Table
              caption={texts.caption}
              rows={data.filter(isWanted)}
              columns={columns()}
              keyOf={model => model.id}
              hrefOf={model => href(pathTo('models', model.id), Object.fromEntries(query.value))}
              currentKey={currentId}
              isFaint={model => !model.enabled}
              empty={<Nothing isFiltered={data.length > 0} />}
            />
          </>
        )}
      </Load>
    </>
  )
}

/** Callers are refused; that must not wait until somebody scrolls to the row. */
function UnservedNote({ count }: { readonly count: number }) {
  const texts = t().models
  if (count === 0) return null
  const isShown = query.value.get('only') === 'unserved'
  return (
    <div class="models-unserved">
      <Note
        tone="warn"
        title={texts.unservedCount(count)}
        action={
          <span class="row">
            {!isShown && (
              <LinkButton size="small" href={href('/models', { only: 'unserved' })}>
                {texts.showThem}
              </LinkButton>
            )}
            <LinkButton size="small" href={href('/channels')}>
              {t().nav.channels}
            </LinkButton>
          </span>
        }
      >
        {texts.unservedCountText(count)}
      </Note>
    </div>
  )
}

const vendorOf = (id: string): string => id.slice(0, id.indexOf('/'))

function Filters({ models }: { readonly models: readonly ModelView[] }) {
  const texts = t().models
  const vendors = [...new Set(models.map(({ id }) => vendorOf(id)))].sort()
  const channels = [...new Set(models.flatMap(model => model.channels))].sort()
  const only = (Object.keys(ONLY) as Only[]).filter(name => isAdmin.value || !FOR_ADMINS.includes(name))
  return (
    <FilterBar names={FILTERS}>
      <QuerySearch name="q" label={texts.search} />
      <QuerySelect name="vendor" label={texts.vendor} all={texts.allVendors} options={vendors.map(asOption)} />
      <QuerySelect
        name="only"
        label={texts.only}
        all={texts.everything}
        options={only.map(name => ({ value: name, label: texts.onlyThose[name] }))}
      />
      {isAdmin.value && (
        <QuerySelect name="channel" label={texts.servedBy} all={texts.anyChannel} options={channels.map(asOption)} />
      )}
    </FilterBar>
  )
}

const asOption = (value: string) => ({ value, label: value })

function isWanted(model: ModelView): boolean {
  const { value } = query
  const words = (value.get('q') ?? '').toLowerCase()
  const only = value.get('only')
  if (value.has('vendor') && vendorOf(model.id) !== value.get('vendor')) return false
  if (value.has('channel') && !model.channels.includes(value.get('channel') ?? '')) return false
  if (only !== null && Object.hasOwn(ONLY, only) && !ONLY[only as Only](model)) return false
  return [model.id, model.name].some(text => text.toLowerCase().includes(words))
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }) {
  const texts = t().models
  if (isFiltered) return <Empty icon="filter" title={texts.noMatch} text={texts.noMatchText} />
  const action = isAdmin.value && (
    <LinkButton kind="primary" icon="plus" href={href('/models/new')}>
      {texts.add}
    </LinkButton>
  )
  return (
    <Empty
      icon="models"
      title={texts.empty}
      text={isAdmin.value ? texts.emptyText : texts.emptyTextMember}
      action={action}
    />
  )
}

type PriceClass = 'input' | 'output' | 'cache_read' | 'cache_write'

const byPrice = (name: PriceClass) => (a: ModelView, b: ModelView) =>
  compare(a.price?.[name] ?? '-1', b.price?.[name] ?? '-1')

function columns(): Column<ModelView>[] {
  const texts = t().models
  const own: Column<ModelView>[] = [
    {
      id: 'served',
      title: texts.servedBy,
      cell: ({ channels }) => <ServedBy channels={channels} />,
      isMinor: true,
    },
  ]
  return [
    {
      id: 'id',
      title: texts.model,
      cell: model => <NameCell model={model} />,
      compare: (a, b) => a.id.localeCompare(b.id),
    },
    { id: 'input', title: texts.input, isNumeric: true, cell: inputCell, compare: byPrice('input') },
    {
      id: 'output',
      title: texts.output,
      isNumeric: true,
      cell: ({ price }) => price && <Amount amount={price.output} />,
      compare: byPrice('output'),
    },
    {
      id: 'cache',
      title: texts.cache,
      isNumeric: true,
      isMinor: true,
      cell: ({ price }) =>
        price && (
          <span>
            <Amount amount={price.cache_read} /> <span class="faint">/</span> <Amount amount={price.cache_write} />
          </span>
        ),
      compare: byPrice('cache_read'),
    },
    {
      id: 'context',
      title: texts.context,
      isNumeric: true,
      cell: model => <span title={number(model.context_length)}>{compact(model.context_length)}</span>,
      compare: (a, b) => a.context_length - b.context_length,
    },
    ...(isAdmin.value ? own : []),
    {
      id: 'day',
      title: t().channels.lastDay,
      isNumeric: true,
      cell: ({ last_day }) => <TrafficCell traffic={last_day} />,
      compare: (a, b) => a.last_day.requests - b.last_day.requests,
    },
    {
      id: 'actions',
      title: t().common.actions,
      isActions: true,
      cell: ({ id }) => <CopyIcon text={id} label={texts.copyId(id)} />,
    },
  ]
}

/** What has no price is refused: that stands where the price would be. */
const inputCell = ({ price }: ModelView) =>
  price ? (
    <Amount amount={price.input} />
  ) : (
    <Badge tone="warn" title={t().models.unpricedText}>
      {t().models.unpriced}
    </Badge>
  )

/** A price is short and exact at once; it is what people compare. */
function Amount({ amount }: { readonly amount: string }) {
  return <span title={exactMoney(amount)}>{money(amount)}</span>
}

function NameCell({ model }: { readonly model: ModelView }) {
  return (
    <span class="models-name">
      <span class="truncate mono" title={model.id}>
        {model.id}
      </span>
      <small>
        <span class="truncate">{model.name}</span>
        {isAdmin.value && isUnserved(model) && (
          <Badge tone="warn" title={t().models.unservedText}>
            {t().models.unservedBadge}
          </Badge>
        )}
        <Flags model={model} />
        {isAdmin.value && <OriginBadge origin={model.origin} />}
      </small>
    </span>
  )
}

/** So many channels are named; the rest are counted. */
const NAMED_MAX = 1

function ServedBy({ channels }: { readonly channels: readonly string[] }) {
  if (channels.length === 0) return <span class="faint">{t().models.unserved}</span>
  const more = channels.length - NAMED_MAX
  return (
    <span class="models-served" title={channels.join('\n')}>
      <span class="truncate">{channels[0]}</span>
      {more > 0 && <span class="faint">+{more}</span>}
    </span>
  )
}
