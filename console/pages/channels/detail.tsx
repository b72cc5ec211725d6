import { useSignal } from '@preact/signals'
import type { ChannelView } from '../../../src/admin/contract.ts'
import { dateTime, duration, number, percent } from '../../app/format.ts'
import { useShortcuts } from '../../app/keys.ts'
import { t } from '../../app/language.ts'
import { go, href, pathTo } from '../../app/router.ts'
import {
  Button,
  Card,
  Code,
  CopyText,
  Empty,
  Facts,
  Icon,
  LinkButton,
  Load,
  Menu,
  Note,
  PageHeader,
  Section,
  SkeletonStats,
  Stat,
  Stats,
  Time,
} from '../../kit/index.ts'
import { type Channels, removeChannel, setPaused } from './actions.ts'
import { ChannelKeys } from './keys.tsx'
import { ServedModels } from './models.tsx'
import { OriginBadge, ReadOnlyNote } from './origin.tsx'
import { errorShare, errorTone, pair, restText, Since, StateBadge } from './state.tsx'
import { TestDialog } from './test.tsx'
import { testOf } from './tests.ts'

interface DetailProps {
  readonly channels: Channels
  readonly name: string
  /** Models that it left without a channel when it was added and the sandbox made way for it. */
  readonly leftCount: number
}

export function ChannelDetail({ channels, name, leftCount }: DetailProps) {
  useShortcuts({ Escape: () => go('/channels') })
  return (
    <>
      <BackLink />
      <Load resource={channels} skeleton={<SkeletonStats />}>
        {({ data }) => {
          const channel = data.find(candidate => candidate.name === name)
          if (!channel) return <Gone name={name} />
          return <Channel key={name} channels={channels} channel={channel} leftCount={leftCount} />
        }}
      </Load>
    </>
  )
}

export function BackLink() {
  return (
    <a class="channels-back" href={href('/channels')}>
      <Icon name="back" />
      {t().nav.channels}
    </a>
  )
}

export function Gone({ name }: { readonly name: string }) {
  return (
    <>
      <PageHeader title={t().errors.notFoundTitle} />
      <Empty
        icon="search"
        title={t().channels.gone(name)}
        action={<LinkButton href={href('/channels')}>{t().nav.channels}</LinkButton>}
      />
    </>
  )
}

interface ChannelProps {
  readonly channels: Channels
  readonly channel: ChannelView
}

function Channel({ channels, channel, leftCount }: ChannelProps & { readonly leftCount: number }) {
  const isTesting = useSignal(false)
  const test = () => {
    isTesting.value = true
  }
  return (
    <>
      <Header channels={channels} channel={channel} test={test} />
      <div class="stack channels-notes">
        <ReadOnlyNote origin={channel.origin} isShadowing={channel.shadows} />
        {leftCount > 0 && <LeftNote count={leftCount} />}
        <TestNote name={channel.name} />
        <StateNote channel={channel} test={test} />
      </div>
      <HealthStats channel={channel} />
      <Definition channel={channel} />
      <ChannelKeys channels={channels} channel={channel} />
      <ServedModels channel={channel} />
      {isTesting.value && (
        <TestDialog
          channel={channel}
          onClose={() => {
            isTesting.value = false
          }}
        />
      )}
    </>
  )
}

function Header({ channels, channel, test }: ChannelProps & { readonly test: () => void }) {
  const texts = t().channels
  const { name, paused } = channel
  const isOwn = channel.origin === 'console'
  const remove = async () => {
    if (await removeChannel(channels, channel)) go('/channels', { replace: true })
  }
  return (
    <PageHeader
      title={name}
      text={
        <span class="row channels-badges">
          <StateBadge state={channel.health.state} />
          <OriginBadge origin={channel.origin} />
          <span class="small">
            <Heard channel={channel} />
          </span>
        </span>
      }
      actions={
        <>
          <TestButton channel={channel} kind="primary" onClick={test} />
          <Button icon={paused ? 'playground' : 'pause'} onClick={() => setPaused(channels, channel, !paused)}>
            {paused ? texts.resume : texts.pause}
          </Button>
          {isOwn && (
            <>
              <LinkButton icon="edit" href={href(pathTo('channels', name), { edit: true })}>
                {t().common.edit}
              </LinkButton>
              <Menu
                label={texts.actionsOf(name)}
                items={[{ label: t().common.delete, icon: 'trash', isDangerous: true, onSelect: remove }]}
              />
            </>
          )}
        </>
      }
    />
  )
}

interface TestButtonProps {
  readonly channel: ChannelView
  readonly kind?: 'primary' | 'secondary'
  readonly size?: 'small' | 'medium'
  readonly onClick: () => void
}

function TestButton({ channel, kind = 'secondary', size = 'medium', onClick }: TestButtonProps) {
  const texts = t().channels
  const isIdle = Object.keys(channel.models).length === 0
  const why = isIdle ? { title: texts.models.empty } : {}
  return (
    <Button kind={kind} size={size} icon="bolt" isDisabled={isIdle} {...why} onClick={onClick}>
      {texts.test.action}
    </Button>
  )
}

/** A test is no traffic, but one that was made just now is what its reader knows of the channel. */
function Heard({ channel: { name, health } }: { readonly channel: ChannelView }) {
  const tested = health.state === 'unused' ? testOf(name) : undefined
  if (!tested) return <Since health={health} />
  const { passedSince, failedSince } = t().channels.test
  return (
    <>
      {tested.result.ok ? passedSince : failedSince} <Time at={tested.at} />
    </>
  )
}

function LeftNote({ count }: { readonly count: number }) {
  const texts = t().channels.takeover
  const see = (
    <LinkButton size="small" href={href('/models', { only: 'unserved' })}>
      {texts.see}
    </LinkButton>
  )
  return (
    <Note tone="warn" title={texts.doneTitle} action={see}>
      {texts.done(count)}
    </Note>
  )
}

function TestNote({ name }: { readonly name: string }) {
  const { test: texts, protocols } = t().channels
  const tested = testOf(name)
  if (!tested) return null
  const { ok, model, attempts } = tested.result
  const about = texts.outcome(model, dateTime(tested.at))
  if (ok)
    return (
      <Note tone="good" title={texts.passedTitle}>
        {about}
      </Note>
    )
  const faults = attempts.flatMap(({ client, error }) => (error ? [{ client, error }] : []))
  return (
    <div class="stack tight">
      <Note tone="bad" title={texts.failedTitle}>
        {about}
      </Note>
      {faults.map(({ client, error }) => (
        <Code
          key={client}
          label={texts.asked(protocols[client])}
          text={`${protocols[client]} · ${error.code}: ${error.message}`}
          isWrapped
          isLow
        />
      ))}
    </div>
  )
}

/** What there is to do about the state it is in. */
function StateNote({ channel, test }: { readonly channel: ChannelView; readonly test: () => void }) {
  const { health } = channel
  const { notes } = t().channels
  if (health.state === 'paused')
    return (
      <Note tone="warn" title={notes.pausedTitle}>
        {notes.pausedText}
      </Note>
    )
  if (health.state === 'unused' && health.last_error === null) {
    if (testOf(channel.name)) return null
    return (
      <Note title={notes.unusedTitle} action={<TestButton channel={channel} size="small" onClick={test} />}>
        {notes.unusedText}
      </Note>
    )
  }
  if (health.last_error === null) return null
  const isBad = health.state === 'down'
  const isLeftAlone = health.breaker !== 'closed'
  const keysOut = channel.keys.filter(key => !key.paused && key.health.breaker !== 'closed').length
  return (
    <div class="stack tight">
      <Note
        tone={isBad ? 'bad' : health.state === 'degraded' ? 'warn' : 'neutral'}
        title={isBad ? notes.downTitle : health.state === 'degraded' ? notes.degradedTitle : notes.errorTitle}
      >
        {isLeftAlone ? `${restText(health, notes)} ` : isBad && `${notes.downText} `}
        {!isBad && health.requests > 0 && `${notes.failedOf(health.errors, health.requests)} `}
        {!isLeftAlone && keysOut > 0 && `${notes.keysOut(keysOut, channel.keys.length)} `}
        {health.last_error_at && notes.lastErrorAt(dateTime(health.last_error_at))}
      </Note>
      <Code text={health.last_error} label={notes.lastError} isWrapped isLow />
    </div>
  )
}

function HealthStats({ channel: { name, health, last_day } }: { readonly channel: ChannelView }) {
  const texts = t().channels
  const requests = href('/requests', { channel: name })
  return (
    <Stats>
      <Stat label={texts.lastDay} value={number(last_day.requests)} hint={texts.requests} href={requests} />
      <Stat
        label={texts.errorRateDay}
        value={last_day.requests === 0 ? '–' : percent(errorShare(last_day))}
        hint={texts.ofRequests(number(last_day.errors), number(last_day.requests))}
        tone={errorTone(last_day)}
      />
      <Stat label={texts.latency} value={pair(health.p50_ms, health.p95_ms)} hint={texts.measuredOn(health.sample)} />
      <Stat
        label={texts.firstByte}
        value={pair(health.first_byte_p50_ms, health.first_byte_p95_ms)}
        hint={texts.measuredOn(health.sample)}
      />
    </Stats>
  )
}

function Definition({ channel }: { readonly channel: ChannelView }) {
  const texts = t().channels
  const { timeout } = channel
  return (
    <Section title={texts.definition}>
      <Card>
        <Facts
          facts={[
            [texts.protocol, texts.protocols[channel.protocol]],
            [texts.baseUrl, <CopyText key="url" text={channel.base_url} />],
            channel.vendor !== null && [texts.vendor, channel.vendor],
            [texts.priority, number(channel.priority)],
            [texts.weight, number(channel.weight)],
            [texts.groups, channel.groups.join(', ')],
            [texts.connect, duration(timeout.connect_ms)],
            [texts.firstByteWait, duration(timeout.first_byte_ms)],
            [texts.idle, duration(timeout.idle_ms)],
            [texts.total, duration(timeout.total_ms)],
            [texts.breaker, breakerText(channel)],
          ]}
        />
      </Card>
    </Section>
  )
}

function breakerText({ breaker }: ChannelView): string {
  const texts = t().channels
  if (!breaker) return texts.noBreaker
  return texts.breakerText(breaker.failures, duration(breaker.cool_down_ms), duration(breaker.cool_down_max_ms))
}
