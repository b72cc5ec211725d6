import type { ChannelKeyView, ChannelView, List } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { t } from '../../app/language.ts'
import type { Resource } from '../../app/resource.ts'
import { pathTo } from '../../app/router.ts'
import { toast, toastError } from '../../app/toasts.tsx'
import { confirm } from '../../kit/index.ts'
import { forgetTest } from './tests.ts'

export type Channels = Resource<List<ChannelView>>

/** The answer to a change is the channel as it is now: it is shown at once. */
export const show = (channels: Channels, changed: ChannelView): void =>
  channels.mutate(({ data, next }) => ({
    data: data.some(({ name }) => name === changed.name)
      ? data.map(channel => (channel.name === changed.name ? changed : channel))
      : [...data, changed],
    next,
  }))

/** Models that nobody else serves: without this channel, requests for them are refused. */
function servedOnlyBy({ name, models }: ChannelView, channels: Channels): string[] {
  const others = (channels.data?.data ?? []).filter(channel => channel.name !== name && !channel.paused)
  return Object.keys(models).filter(id => !others.some(other => Object.hasOwn(other.models, id)))
}

export async function setPaused(channels: Channels, channel: ChannelView, paused: boolean): Promise<void> {
  const { name } = channel
  if (paused && !(await mayPause(channels, channel))) return
  try {
    const changed = await api.put<ChannelView>(`${pathTo('channels', name)}/paused`, { paused })
    show(channels, changed)
    const texts = t().channels
    toast(paused ? texts.isPaused(name) : texts.isResumed(name), {
      action: { label: paused ? texts.resume : texts.pause, run: () => setPaused(channels, changed, !paused) },
    })
  } catch (error) {
    toastError(error)
  }
}

async function mayPause(channels: Channels, channel: ChannelView): Promise<boolean> {
  const alone = servedOnlyBy(channel, channels)
  if (alone.length === 0) return true
  const texts = t().channels.pausing
  return confirm({
    title: texts.title(channel.name),
    text: texts.text(alone),
    action: texts.action,
    isDangerous: true,
  })
}

export async function setKeyPaused(
  channels: Channels,
  { name }: ChannelView,
  { id, paused }: ChannelKeyView,
): Promise<void> {
  const path = `${pathTo('channels', name, 'keys', id)}/paused`
  await api.put<ChannelView>(path, { paused: !paused }).then(changed => show(channels, changed), toastError)
}

export async function removeKey(channels: Channels, channel: ChannelView, key: ChannelKeyView): Promise<void> {
  const texts = t().channels.keys
  const isLast = channel.keys.length === 1
  const isSure = await confirm({
    title: texts.removeTitle(key.hint),
    text: isLast ? texts.removeLastText : texts.removeText,
    action: texts.remove,
    isDangerous: true,
  })
  if (!isSure) return
  try {
    await api.delete(pathTo('channels', channel.name, 'keys', key.id))
    show(channels, { ...channel, keys: channel.keys.filter(({ id }) => id !== key.id) })
    toast(texts.removed)
  } catch (error) {
    toastError(error)
  }
}

/** True if it is gone. */
export async function removeChannel(channels: Channels, channel: ChannelView): Promise<boolean> {
  const texts = t().channels.remove
  const { name } = channel
  const isLast = (channels.data?.data ?? []).every(other => other.name === name)
  const alone = servedOnlyBy(channel, channels)
  const isSure = await confirm({
    title: texts.title(name),
    text: `${texts.text} ${isLast ? texts.lastText : alone.length > 0 ? texts.aloneText(alone) : ''}`,
    action: texts.action,
    isDangerous: true,
    typed: name,
  })
  if (!isSure) return false
  try {
    await api.delete(pathTo('channels', name))
    channels.mutate(({ data, next }) => ({ data: data.filter(channel => channel.name !== name), next }))
    forgetTest(name)
    toast(texts.done(name))
    return true
  } catch (error) {
    toastError(error)
    return false
  }
}
