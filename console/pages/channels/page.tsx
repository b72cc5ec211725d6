import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ChannelView, List } from '../../../src/admin/contract.ts'
import { useResource } from '../../app/resource.ts'
import { onArrival, query } from '../../app/router.ts'
import type { PageProps } from '../../app/routes.ts'
import { ChannelDetail } from './detail.tsx'
import { type Added, EditChannel, NewChannel } from './form.tsx'
import { ChannelList } from './list.tsx'
import { useLive } from './live.ts'
import { toTop } from './top.ts'

export function Page({ rest: [name] }: PageProps) {
  const channels = useResource<List<ChannelView>>('/channels')
  const added = useSignal<Added | null>(null)
  useLive(channels.reload)
  useEffect(() => onArrival(toTop), [])
  useEffect(() => {
    if (added.value?.name !== name) added.value = null
  }, [name])
  if (name === undefined) return <ChannelList channels={channels} />
  if (name === 'new') return <NewChannel channels={channels} added={added} />
  if (query.value.has('edit')) return <EditChannel channels={channels} name={name} />
  return <ChannelDetail channels={channels} name={name} leftCount={added.value?.leftCount ?? 0} />
}
