import type { ChannelKeyView, ChannelView, List } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { t } from '../../app/language.ts'
import type { Resource } from '../../app/resource.ts'
import { pathTo } from '../../app/router.ts'
import { toast, toastError } from '../../app/toasts.tsx'
import { confirm } from '../../kit/index.ts'

export type Channels = Resource<List<ChannelView>>

/** The answer to a change is the channel as it is now: it is shown at once. */
export const show = (channels: Channels, changed: ChannelView): void =>
  channels.mutate(({ data, next }) => ({
    data: data.some(({ name }) => name === changed.name)
      ? data.map(channel => (channel.name === changed.name ? changed : channel))
      : [...data, changed],
    next,
  }))

export async function setPaused(channels: Channels, { name }: ChannelView, paused: boolean): Promise<void> {
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
export async function removeChannel(channels: Channels, { name, models }: ChannelView): Promise<boolean> {
  const texts = t().channels.remove
  const others = (channels.data?.data ?? []).filter(channel => channel.name !== name)
  const alone = Object.keys(models).filter(id => !others.some(other => Object.hasOwn(other.models, id)))
  const isSure = await confirm({
    title: texts.title(name),
    text: `${texts.text} ${others.length === 0 ? texts.lastText : alone.length > 0 ? texts.aloneText(alone) : ''}`,
    action: texts.action,
    isDangerous: true,
    typed: name,
  })
  if (!isSure) return false
  try {
    await api.delete(pathTo('channels', name))
    channels.mutate(({ data, next }) => ({ data: data.filter(channel => channel.name !== name), next }))
    toast(texts.done(name))
    return true
  } catch (error) {
    toastError(error)
    return false
  }
}
