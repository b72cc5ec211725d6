import { useSignal } from '@preact/signals'
import type { ChannelKeyView, ChannelView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { percent } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { pathTo } from '../../app/router.ts'
import { toast } from '../../app/toasts.tsx'
import { Button, type Column, Dialog, Empty, Form, Section, Table, Time, useSubmit } from '../../kit/index.ts'
import { type Channels, removeKey, setKeyPaused, show } from './actions.ts'
import { SecretField } from './secret.tsx'
import { errorShare, pair, StateCell } from './state.tsx'

interface KeysProps {
  readonly channels: Channels
  readonly channel: ChannelView
}

/** The vendor's credentials: a hint of each, and how each has been doing. */
export function ChannelKeys({ channels, channel }: KeysProps) {
  const texts = t().channels.keys
  const isAdding = useSignal(false)
  const isOwn = channel.origin === 'console'
  const add = () => {
    isAdding.value = true
  }
  return (
    <Section
      title={texts.title}
      text={texts.text}
      actions={
        isOwn && (
          <Button icon="plus" size="small" onClick={add}>
            {texts.add}
          </Button>
        )
      }
    >
      <Table
        caption={texts.title}
        rows={channel.keys}
        columns={columnsFor(channels, channel)}
        keyOf={key => key.id}
        isFaint={key => key.paused}
        empty={<Empty icon="lock" title={texts.empty} text={isOwn ? texts.emptyOwn : texts.emptyOther} />}
      />
      {isAdding.value && (
        <AddKey
          channels={channels}
          channel={channel}
          onClose={() => {
            isAdding.value = false
          }}
        />
      )}
    </Section>
  )
}

function columnsFor(channels: Channels, channel: ChannelView): Column<ChannelKeyView>[] {
  const texts = t().channels.keys
  return [
    { id: 'hint', title: texts.hint, cell: key => <KeyName vendorKey={key} /> },
    { id: 'state', title: t().common.status, cell: key => <KeyState healthOf={key} /> },
    {
      id: 'errors',
      title: texts.errors,
      isNumeric: true,
      cell: ({ health }) => (health.requests === 0 ? '–' : percent(errorShare(health))),
    },
    {
      id: 'latency',
      title: t().channels.latency,
      isNumeric: true,
      isMinor: true,
      cell: ({ health }) => pair(health.p50_ms, health.p95_ms),
    },
    { id: 'last', title: texts.lastOk, isMinor: true, cell: ({ health }) => <Time at={health.last_ok_at} /> },
    {
      id: 'actions',
      title: t().common.actions,
      isActions: true,
      cell: key => <KeyActions channels={channels} channel={channel} vendorKey={key} />,
    },
  ]
}

/** With its id, by which logs, metrics and records of requests name it. */
function KeyName({ vendorKey: { hint, id } }: { readonly vendorKey: ChannelKeyView }) {
  return (
    <span class="channels-key-name">
      <code>{hint}</code>
      <small class="mono">{id}</small>
    </span>
  )
}

function KeyState({ healthOf: { health } }: { readonly healthOf: ChannelKeyView }) {
  const isBad = health.state === 'down' || health.state === 'degraded'
  return (
    <span class="channels-key-state">
      <StateCell health={health} />
      {isBad && health.last_error && <span class="channels-key-error">{health.last_error}</span>}
    </span>
  )
}

function KeyActions({ channels, channel, vendorKey }: KeysProps & { readonly vendorKey: ChannelKeyView }) {
  const texts = t().channels
  return (
    <span class="channels-key-actions">
      <Button
        size="small"
        kind="quiet"
        icon={vendorKey.paused ? 'playground' : 'pause'}
        onClick={() => setKeyPaused(channels, channel, vendorKey)}
      >
        {vendorKey.paused ? texts.resume : texts.pause}
      </Button>
      {channel.origin === 'console' && (
        <Button size="small" kind="quiet" icon="trash" onClick={() => removeKey(channels, channel, vendorKey)}>
          {t().common.remove}
        </Button>
      )}
    </span>
  )
}

function AddKey({ channels, channel, onClose }: KeysProps & { readonly onClose: () => void }) {
  const texts = t().channels.keys
  const secret = useSignal('')
  const form = useSubmit(async () => {
    if (secret.value.trim() === '') return form.refuse('api_key', texts.missing)
    const path = `${pathTo('channels', channel.name)}/keys`
    show(channels, await api.post<ChannelView>(path, { api_key: secret.value.trim() }))
    toast(texts.added)
    onClose()
  })
  return (
    <Dialog
      title={texts.addTitle(channel.name)}
      look="small"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t().common.cancel}</Button>
          <Button type="submit" form="channel-key" kind="primary" isBusy={form.isBusy}>
            {texts.add}
          </Button>
        </>
      }
    >
      <Form submission={form} id="channel-key" fields={['api_key']}>
        <SecretField
          label={texts.secret}
          hint={texts.writeOnly}
          error={form.errorOf('api_key')}
          value={secret}
          isAutofocused
        />
      </Form>
    </Dialog>
  )
}
