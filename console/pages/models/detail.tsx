import { useEffect, useRef } from 'preact/hooks'
import type { ChannelView, List, ModelView, PriceVersionView } from '../../../src/admin/contract.ts'
import { clockTime, date, dateTime, number } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { closeTo, useResource } from '../../app/resource.ts'
import { href, pathTo, query, setQuery } from '../../app/router.ts'
import { isAdmin } from '../../app/session.ts'
import {
  Badge,
  Button,
  type Column,
  CopyText,
  Dialog,
  Empty,
  ErrorNote,
  Facts,
  LinkButton,
  Load,
  Menu,
  Money,
  Note,
  Skeleton,
  Table,
} from '../../kit/index.ts'
import { OriginBadge, ReadOnlyNote } from '../channels/origin.tsx'
import { pair, StateCell, TrafficCell } from '../channels/state.tsx'
import { type Models, remove, setEnabled } from './actions.ts'
import { Flags } from './flags.tsx'
import { EditModel } from './form.tsx'
import { isUnserved } from './served.ts'

interface ModelDetailProps {
  readonly models: Models
  readonly id: string
}

/** A panel beside the list, which stays usable. */
export function ModelDetail({ models, id }: ModelDetailProps) {
  const model = models.data?.data.find(candidate => candidate.id === id)
  const close = () => closeTo('/models')
  return (
    <>
      <Dialog
        title={model?.name ?? id}
        look="panel"
        isModal={false}
        onClose={close}
        {...(model ? { footer: <Actions models={models} model={model} /> } : {})}
      >
        <Content models={models} model={model} id={id} />
      </Dialog>
      {model && isEditing(model) && (
        <EditModel models={models} model={model} onClose={() => setQuery({ edit: null }, { replace: false })} />
      )}
    </>
  )
}

const isChangeable = ({ origin }: ModelView): boolean => isAdmin.value && (origin === 'console' || origin === 'builtin')

const isEditing = (model: ModelView): boolean => isChangeable(model) && query.value.has('edit')

function Content({ models, model, id }: ModelDetailProps & { readonly model: ModelView | undefined }) {
  if (model) return <Model model={model} />
  if (models.data) return <Empty icon="search" title={t().errors.notFoundTitle} text={t().models.gone(id)} />
  if (models.error) return <ErrorNote error={models.error} onRetry={models.reload} />
  return (
    <div class="stack" role="status" aria-label={t().common.loading}>
      <Skeleton width="60%" />
      <Skeleton width="85%" />
      <Skeleton width="40%" />
    </div>
  )
}

function Actions({ models, model }: { readonly models: Models; readonly model: ModelView }) {
  const texts = t().models
  const drop = async () => {
    if ((await remove(models, model)) && !model.overrides) closeTo('/models')
  }
  return (
    <>
      {isChangeable(model) && model.origin === 'console' && (
        <Menu
          label={texts.actionsOf(model.id)}
          items={[
            model.overrides
              ? { label: texts.restore.action, icon: 'refresh', onSelect: drop }
              : { label: t().common.delete, icon: 'trash', isDangerous: true, onSelect: drop },
          ]}
        />
      )}
      {isChangeable(model) && (
        <Button onClick={() => setEnabled(models, model, !model.enabled)}>
          {model.enabled ? texts.switchOff : texts.switchOn}
        </Button>
      )}
      {isChangeable(model) && (
        <LinkButton
          icon="edit"
          href={href(pathTo('models', model.id), { ...Object.fromEntries(query.value), edit: true })}
        >
          {t().common.edit}
        </LinkButton>
      )}
      {model.enabled && (
        <LinkButton kind="primary" icon="playground" href={href('/playground', { model: model.id })}>
          {texts.tryIt}
        </LinkButton>
      )}
    </>
  )
}

function Model({ model }: { readonly model: ModelView }) {
  const texts = t().models
  return (
    <div class="stack wide">
      <div class="stack">
        <div class="stack tight">
          <CopyText text={model.id} label={texts.copyId(model.id)} />
          <span class="row">
            {isAdmin.value && <OriginBadge origin={model.origin} />}
            <Flags model={model} />
          </span>
          {model.description && <p class="prose">{model.description}</p>}
        </div>
        <Notes model={model} />
      </div>
      <Prices model={model} />
      <section class="stack tight">
        <h3>{texts.limits}</h3>
        <Facts
          facts={[
            [texts.contextLength, texts.tokens(number(model.context_length))],
            [texts.maxOutput, texts.tokens(number(model.max_output_tokens))],
            [texts.imagesTitle, texts.images[model.images]],
            [texts.reasoningTitle, model.reasoning ? texts.reasons : texts.doesNotReason],
            [t().channels.lastDay, <TrafficCell key="day" traffic={model.last_day} />],
          ]}
        />
        <p>
          <a href={href('/requests', { model: model.id })}>{texts.seeRequests}</a>
        </p>
      </section>
      {isAdmin.value && <ServingChannels id={model.id} />}
    </div>
  )
}

function Notes({ model }: { readonly model: ModelView }) {
  const texts = t().models
  return (
    <>
      {isAdmin.value && <ReadOnlyNote origin={model.origin} isShadowing={model.shadows} />}
      {!model.enabled && (
        <Note tone="warn" title={texts.offTitle}>
          {texts.offText}
        </Note>
      )}
      {model.price === null && (
        <Note tone="warn" title={texts.unpricedTitle}>
          {isAdmin.value ? texts.unpricedText : texts.unpricedTextMember}
        </Note>
      )}
      {isAdmin.value && isUnserved(model) && (
        <Note
          tone="warn"
          title={texts.unservedTitle}
          action={
            <LinkButton size="small" href={href('/channels')}>
              {t().nav.channels}
            </LinkButton>
          }
        >
          {texts.unservedText}
        </Note>
      )}
      {model.overrides && isAdmin.value && <Note>{texts.overridesText}</Note>}
    </>
  )
}

/** Every price it has had. A bill names the version it was made with. */
function Prices({ model: { id, price } }: { readonly model: ModelView }) {
  const texts = t().models
  const prices = useResource<List<PriceVersionView>>(`${pathTo('models', id)}/prices`)
  const shown = useRef(price?.version)
  useEffect(() => {
    if (shown.current === price?.version) return
    shown.current = price?.version
    prices.reload()
  }, [price?.version])
  return (
    <section class="stack tight">
      <h3>{texts.prices}</h3>
      <p class="small faint">{texts.pricesText}</p>
      <Load resource={prices} skeleton={<Skeleton height="4rem" />}>
        {({ data }) => (
          <Table
            caption={texts.prices}
            rows={data}
            columns={priceColumns(price?.version)}
            keyOf={({ version }) => String(version)}
            isFaint={({ version }) => version !== price?.version}
            empty={<p class="models-nothing">{texts.noPrices}</p>}
          />
        )}
      </Load>
    </section>
  )
}

function priceColumns(current: number | undefined): Column<PriceVersionView>[] {
  const texts = t().models
  const column = (id: 'input' | 'output' | 'cache_read' | 'cache_write', title: string): Column<PriceVersionView> => ({
    ...{ id, title, isNumeric: true },
    cell: row => <Money amount={row[id]} />,
  })
  return [
    {
      id: 'version',
      title: texts.version,
      cell: ({ version }) => (
        <span class="models-when">
          {texts.versionNumber(version)} {version === current && <Badge tone="good">{texts.inForce}</Badge>}
        </span>
      ),
    },
    {
      id: 'since',
      title: texts.since,
      cell: ({ since }) => (
        <time class="models-when" dateTime={since} title={dateTime(since)}>
          {date(since)} <small>{clockTime(since)}</small>
        </time>
      ),
    },
    column('input', texts.input),
    column('output', texts.output),
    column('cache_read', texts.cacheRead),
    column('cache_write', texts.cacheWrite),
  ]
}

function ServingChannels({ id }: { readonly id: string }) {
  const channels = useResource<List<ChannelView>>('/channels')
  return (
    <section class="stack tight">
      <h3>{t().models.servedBy}</h3>
      <Load resource={channels} skeleton={<Skeleton height="4rem" />}>
        {({ data }) => (
          <Table
            caption={t().models.servedBy}
            rows={data.filter(channel => Object.hasOwn(channel.models, id))}
            columns={channelColumns(id)}
            keyOf={({ name }) => name}
            empty={<p class="models-nothing">{t().models.unservedText}</p>}
          />
        )}
      </Load>
    </section>
  )
}

function channelColumns(id: string): Column<ChannelView>[] {
  const texts = t().channels
  return [
    {
      id: 'name',
      title: texts.channel,
      cell: ({ name }) => (
        <a class="strong channels-anywhere" href={href(pathTo('channels', name))}>
          {name}
        </a>
      ),
    },
    { id: 'state', title: t().common.status, cell: ({ health }) => <StateCell health={health} /> },
    {
      id: 'upstream',
      title: texts.models.upstream,
      cell: ({ models }) => <span class="mono channels-anywhere">{models[id]}</span>,
    },
    {
      id: 'latency',
      title: texts.latency,
      isNumeric: true,
      cell: ({ health }) => pair(health.p50_ms, health.p95_ms),
    },
  ]
}
