import type { ChannelView, List } from '../../../src/admin/contract.ts'
import { useResource } from '../../app/resource.ts'
import { query } from '../../app/router.ts'
import type { PageProps } from '../../app/routes.ts'
import { ChannelDetail } from './detail.tsx'
import { EditChannel, NewChannel } from './form.tsx'
import { ChannelList } from './list.tsx'
import { useLive } from './live.ts'

export function Page({ rest: [name] }: PageProps) {
  const channels = useResource<List<ChannelView>>('/channels')
  useLive(channels.reload)
  if (name === undefined) return <ChannelList channels={channels} />
  if (name === 'new') return <NewChannel channels={channels} />
  if (query.value.has('edit')) return <EditChannel channels={channels} name={name} />
  return <ChannelDetail channels={channels} name={name} />
}
