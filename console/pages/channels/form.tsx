import type { Signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { ChannelView, List, ModelView, VendorView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { t } from '../../app/language.ts'
import { type Resource, useResource } from '../../app/resource.ts'
import { go, href, pathTo } from '../../app/router.ts'
import { toast } from '../../app/toasts.tsx'
import {
  Button,
  CheckField,
  Empty,
  Form,
  LinkButton,
  Load,
  Note,
  PageHeader,
  Segments,
  type Submission,
  TextAreaField,
  TextField,
  useSubmit,
} from '../../kit/index.ts'
import { type Channels, show } from './actions.ts'
import { refuseFaults } from './check.ts'
import { BackLink, Gone } from './detail.tsx'
import { type Draft, newSecret, secretsOf, servedIds, settingsOf, useDraft, withoutNulls } from './draft.ts'
import { type Faults, faultsOf, useFirstFault } from './faults.ts'
import { isSandboxOnly } from './origin.tsx'
import { ModelPicker } from './picker.tsx'
import { FaultList } from './reload.tsx'
import { SecretField } from './secret.tsx'
import { forgetTest } from './tests.ts'
import { toTop } from './top.ts'
import { VendorChoice } from './vendor.tsx'

const FIELDS = [
  ...['name', 'vendor', 'protocol', 'base_url', 'api_key', 'api_keys', 'models', 'priority', 'weight', 'groups'],
  ...['timeout.connect', 'timeout.first_byte', 'timeout.idle', 'timeout.total'],
  ...['breaker.failures', 'breaker.cool_down', 'breaker.cool_down_max', 'capabilities'],
]

/** What the form leaves for the page of the new channel to say. */
export interface Added {
  readonly name: string
  /** Models that the sandbox served and that nobody serves now. */
  readonly leftCount: number
}

interface NewChannelProps {
  readonly channels: Channels
  readonly added: Signal<Added | null>
}

export function NewChannel({ channels, added }: NewChannelProps) {
  const texts = t().channels.form
  const draft = useDraft()
  const offer = useOffer()
  const present = channels.data?.data ?? []
  const form = useSubmit(async () => {
    const name = draft.name.value.trim()
    const settings = settingsOf(draft)
    if (!refuseFaults(draft, form, { isNew: true }) || !settings) return
    const secrets = secretsOf(draft)
    const body = { name, ...withoutNulls(settings), ...(secrets.length > 0 ? { api_keys: secrets } : {}) }
    const channel = await api.post<ChannelView>('/channels', body)
    const leftCount = leftBehind(present, offer.models.data?.data ?? [], Object.keys(channel.models)).length
    added.value = { name: channel.name, leftCount }
    show(channels, channel)
    toast(texts.added(channel.name))
    go(pathTo('channels', channel.name), { replace: true })
  })
  return (
    <>
      <BackLink />
      <PageHeader title={t().channels.add} text={texts.intro} />
      <ChannelForm draft={draft} form={form} offer={offer} isNew present={present} />
    </>
  )
}

/** What there is to choose from. */
interface Offer {
  readonly vendors: Resource<List<VendorView>>
  readonly models: Resource<List<ModelView>>
}

const useOffer = (): Offer => ({
  vendors: useResource<List<VendorView>>('/vendors'),
  models: useResource<List<ModelView>>('/models'),
})

/** The sandbox makes way for the first real channel: these models it served, and nobody would. */
function leftBehind(
  present: readonly ChannelView[],
  catalog: readonly ModelView[],
  served: readonly string[],
): ModelView[] {
  if (!isSandboxOnly(present)) return []
  return catalog.filter(({ id, enabled, channels }) => enabled && channels.length > 0 && !served.includes(id))
}

export function EditChannel({ channels, name }: { readonly channels: Channels; readonly name: string }) {
  return (
    <>
      <BackLink />
      <Load resource={channels}>
        {({ data }) => {
          const channel = data.find(candidate => candidate.name === name)
          return channel ? <Edit key={name} channels={channels} channel={channel} /> : <Gone name={name} />
        }}
      </Load>
    </>
  )
}

function Edit({ channels, channel }: { readonly channels: Channels; readonly channel: ChannelView }) {
  const texts = t().channels.form
  const { name } = channel
  const draft = useDraft(channel)
  const offer = useOffer()
  const form = useSubmit(async () => {
    const settings = settingsOf(draft)
    if (!refuseFaults(draft, form, { isNew: false }) || !settings) return
    show(channels, await api.patch<ChannelView>(pathTo('channels', name), settings))
    forgetTest(name)
    toast(t().common.saved)
    go(pathTo('channels', name), { replace: true })
    toTop()
  })
  if (channel.origin !== 'console')
    return (
      <>
        <PageHeader title={name} />
        <Empty
          icon="lock"
          title={t().channels.originMeaning[channel.origin]}
          action={<LinkButton href={href(pathTo('channels', name))}>{t().common.back}</LinkButton>}
        />
      </>
    )
  return (
    <>
      <PageHeader title={texts.editTitle(name)} text={texts.editIntro} />
      <ChannelForm draft={draft} form={form} offer={offer} isNew={false} present={[]} />
    </>
  )
}

interface ChannelFormProps {
  readonly draft: Draft
  readonly form: Submission
  readonly offer: Offer
  readonly isNew: boolean
  /** Channels that a new one comes beside. */
  readonly present: readonly ChannelView[]
}

interface PartProps {
  readonly draft: Draft
  /** What is wrong with a field, wherever it was found. */
  readonly errorOf: (field: string) => string | undefined
}

function ChannelForm({ draft, form, offer: { vendors, models }, isNew, present }: ChannelFormProps) {
  const texts = t().channels.form
  const taken = present.map(({ name }) => name)
  const faults: Faults = faultsOf(form.error, FIELDS)
  const errorOf = (field: string) => faults.of(field) ?? form.errorOf(field)
  const vendor = vendors.data?.data.find(({ name }) => name === draft.vendor.value)
  const back = isNew ? '/channels' : pathTo('channels', draft.name.value)
  const isListed = form.error?.code === 'invalid_field'
  const root = useFirstFault(form)
  return (
    <div class="channels-form" ref={root}>
      <Form submission={form} fields={isListed && form.error?.param !== undefined ? [form.error.param] : FIELDS}>
        <Part title={texts.upstream}>
          <Load resource={vendors}>
            {({ data }) => <VendorChoice draft={draft} vendors={data} isNew={isNew} taken={taken} errorOf={errorOf} />}
          </Load>
          {isNew && (
            <TextField
              label={t().common.name}
              hint={texts.nameHint}
              value={draft.name}
              error={errorOf('name')}
              maxLength={64}
              autoComplete="off"
              spellcheck={false}
            />
          )}
        </Part>
        {isNew && <Keys draft={draft} errorOf={errorOf} isKeyless={vendor?.keyless ?? false} />}
        <Part title={t().nav.models}>
          <Load resource={models}>
            {({ data }) => <ModelChoice draft={draft} vendor={vendor} catalog={data} error={errorOf('models')} />}
          </Load>
        </Part>
        <Advanced draft={draft} errorOf={errorOf} />
        {faults.rest.length > 0 && <FaultList faults={faults.rest} />}
        {isNew && isSandboxOnly(present) && (
          <TakeoverNote
            count={leftBehind(present, models.data?.data ?? [], servedIds(draft, vendor?.models ?? [])).length}
          />
        )}
        <div class="row channels-submit">
          <Button type="submit" kind="primary" isBusy={form.isBusy}>
            {isNew ? t().channels.add : t().common.save}
          </Button>
          <LinkButton href={href(back)}>{t().common.cancel}</LinkButton>
        </div>
      </Form>
    </div>
  )
}

/** Said before it is done: until now everything was answered, if only by the sandbox. */
function TakeoverNote({ count }: { readonly count: number }) {
  const texts = t().channels.takeover
  return (
    <Note tone={count > 0 ? 'warn' : 'neutral'} title={texts.title}>
      {count > 0 ? texts.text(count) : texts.textForNone}
    </Note>
  )
}

function Part({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="card padded stack">
      <h2>{title}</h2>
      {children}
    </section>
  )
}

function Keys({ draft, errorOf, isKeyless }: PartProps & { readonly isKeyless: boolean }) {
  const { form: texts, keys } = t().channels
  const all = draft.keys.value
  return (
    <Part title={keys.title}>
      {all.map((secret, index) => (
        <SecretField
          key={secret.id}
          label={all.length === 1 ? keys.secret : texts.keyNumber(index + 1)}
          {...(index === all.length - 1 ? { hint: isKeyless ? texts.keylessHint : keys.writeOnly } : {})}
          error={index === 0 ? (errorOf('api_keys') ?? errorOf('api_key')) : undefined}
          value={secret.value}
          {...(all.length > 1
            ? {
                onRemove: () => {
                  draft.keys.value = all.filter(other => other !== secret)
                },
              }
            : {})}
        />
      ))}
      <div>
        <Button
          size="small"
          icon="plus"
          onClick={() => {
            draft.keys.value = [...all, newSecret()]
          }}
        >
          {texts.anotherKey}
        </Button>
      </div>
    </Part>
  )
}

interface ModelChoiceProps {
  readonly draft: Draft
  readonly vendor: VendorView | undefined
  readonly catalog: readonly ModelView[]
  readonly error: string | undefined
}

function ModelChoice({ draft, vendor, catalog, error }: ModelChoiceProps) {
  const texts = t().channels.form
  const known = vendor?.models ?? []
  // One that is known for all of them needs no second way to say so.
  const ways = [
    ...(known.length > 0 ? [{ value: 'preset' as const, label: texts.allOf(known.length) }] : []),
    ...(known.length < catalog.length ? [{ value: 'catalog' as const, label: texts.allThere(catalog.length) }] : []),
    { value: 'chosen' as const, label: texts.choose },
  ]
  const chosen = draft.choice.value
  const way = ways.find(({ value }) => value === chosen)?.value ?? 'chosen'
  return (
    <>
      <div>
        <Segments
          label={t().nav.models}
          options={ways}
          value={way}
          onChange={choice => {
            draft.choice.value = choice
            if (choice === 'catalog')
              draft.chosen.value = new Map(catalog.map(({ id }) => [id, draft.chosen.value.get(id) ?? '']))
          }}
        />
      </div>
      {way === 'preset' && (
        <p class="field-hint">
          {texts.allOfHint} <span class="mono channels-anywhere">{shortList(known)}</span>
        </p>
      )}
      {way === 'catalog' && <p class="field-hint">{texts.allThereHint}</p>}
      {way === 'chosen' && <ModelPicker chosen={draft.chosen} catalog={catalog} error={error} />}
      {way !== 'chosen' && error && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
    </>
  )
}

/** So many ids are named; the rest are counted. */
const NAMED_MAX = 6

const shortList = (ids: readonly string[]): string =>
  ids.slice(0, NAMED_MAX).join(', ') + (ids.length > NAMED_MAX ? t().channels.form.more(ids.length - NAMED_MAX) : '')

const ADVANCED = FIELDS.slice(FIELDS.indexOf('priority'))

/** What has sensible defaults. It opens by itself where something in it is wrong. */
function Advanced({ draft, errorOf }: PartProps) {
  const { form: texts, ...words } = t().channels
  const isFaulty = ADVANCED.some(field => errorOf(field) !== undefined)
  return (
    <details class="card channels-advanced" open={isFaulty || undefined}>
      <summary>
        <h2>{texts.advanced}</h2>
        <span>{texts.advancedText}</span>
      </summary>
      <div class="stack">
        <div class="grid channels-fields">
          <TextField
            label={words.priority}
            hint={texts.priorityHint}
            placeholder="0"
            inputMode="numeric"
            value={draft.priority}
            error={errorOf('priority')}
          />
          <TextField
            label={words.weight}
            hint={texts.weightHint}
            placeholder="1"
            inputMode="decimal"
            value={draft.weight}
            error={errorOf('weight')}
          />
          <TextField
            label={words.groups}
            hint={texts.groupsHint}
            placeholder="default"
            value={draft.groups}
            error={errorOf('groups')}
          />
        </div>
        <div class="grid channels-fields">
          <TextField
            label={words.connect}
            placeholder="5s"
            value={draft.connect}
            error={errorOf('timeout.connect')}
            hint={texts.durationHint}
          />
          <TextField
            label={words.firstByteWait}
            placeholder="60s"
            value={draft.firstByte}
            error={errorOf('timeout.first_byte')}
          />
          <TextField label={words.idle} placeholder="60s" value={draft.idle} error={errorOf('timeout.idle')} />
          <TextField label={words.total} placeholder="60m" value={draft.total} error={errorOf('timeout.total')} />
        </div>
        <CheckField label={texts.breaker} hint={texts.breakerHint} value={draft.hasBreaker} />
        {draft.hasBreaker.value && <Breaker draft={draft} errorOf={errorOf} />}
        <TextAreaField
          label={words.models.capabilities}
          hint={texts.capabilitiesHint}
          isOptional
          isCode
          rows={5}
          placeholder={'max_tokens_field: max_completion_tokens\nstrict_tools: true\nefforts: [low, medium, high]'}
          value={draft.capabilities}
          error={errorOf('capabilities')}
        />
      </div>
    </details>
  )
}

function Breaker({ draft, errorOf }: PartProps) {
  const texts = t().channels.form
  return (
    <div class="grid channels-fields">
      <TextField
        label={texts.failures}
        placeholder="5"
        inputMode="numeric"
        value={draft.failures}
        error={errorOf('breaker.failures')}
      />
      <TextField
        label={texts.coolDown}
        hint={texts.coolDownHint}
        placeholder="1s"
        value={draft.coolDown}
        error={errorOf('breaker.cool_down')}
      />
      <TextField
        label={texts.coolDownMax}
        placeholder="60s"
        value={draft.coolDownMax}
        error={errorOf('breaker.cool_down_max')}
      />
    </div>
  )
}
