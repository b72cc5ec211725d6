import type { List, ModelView } from '../../admin/contract.ts'
import type { LayeredCatalog } from '../../config/layers.ts'
import type { Api } from '../api.ts'
import { count } from '../table.ts'
import { type Check, failed, ok, warning } from './check.ts'

/** What matters about a model here, whether a server tells it or a file. */
export interface KnownModel {
  readonly id: string
  readonly isPriced: boolean
  readonly isServed: boolean
  readonly isRecommended: boolean
}

export async function modelsOf(api: Api): Promise<KnownModel[]> {
  const { data } = await api.get<List<ModelView>>('/models')
  return data.flatMap(({ id, price, channels, recommended, enabled }) =>
    enabled ? [{ id, isPriced: price !== null, isServed: channels.length > 0, isRecommended: recommended }] : [],
  )
}

/** Without channels, the sandbox serves them all. */
export const modelsIn = ({ models, channels }: LayeredCatalog): KnownModel[] =>
  models.map(({ id, price, recommended }) => ({
    id,
    isPriced: price !== undefined,
    isServed: channels.length === 0 || channels.some(channel => channel.models.has(id)),
    isRecommended: recommended,
  }))

/** A model that is listed and refused is a fault; one that no channel serves is not even listed. */
export function checkModels(models: readonly KnownModel[]): Check {
  const unpriced = models.filter(({ isPriced, isServed }) => isServed && !isPriced).map(({ id }) => `${id}: no price`)
  const unserved = models.filter(({ isServed }) => !isServed).map(({ id }) => `${id}: no channel`)
  if (unpriced.length > 0) {
    return failed('models', `calls of ${count(unpriced.length, 'model')} are refused`, [...unpriced, ...unserved])
  }
  if (unserved.length === models.length) return failed('models', 'no model can be called', unserved)
  if (unserved.length > 0) return warning('models', `${count(unserved.length, 'model')} cannot be called`, unserved)
  return ok('models', `${count(models.length, 'model')}, each with a price and a channel`)
}
