import type { List, ModelView } from '../../../src/admin/contract.ts'
import { closeTo, useResource } from '../../app/resource.ts'
import type { PageProps } from '../../app/routes.ts'
import { isAdmin } from '../../app/session.ts'
import { useLive } from '../channels/live.ts'
import { ModelDetail } from './detail.tsx'
import { NewModel } from './form.tsx'
import { ModelList } from './list.tsx'

/** No id of the catalog can be this: ids have a slash in them. */
const NEW = 'new'

export function Page({ rest: [id] }: PageProps) {
  const models = useResource<List<ModelView>>('/models')
  useLive(models.reload)
  return (
    <>
      <ModelList models={models} currentId={id} />
      {id === NEW && isAdmin.value && <NewModel models={models} onClose={() => closeTo('/models')} />}
      {id !== undefined && id !== NEW && <ModelDetail key={id} models={models} id={id} />}
    </>
  )
}
