import type { List, ModelView } from '../../../src/admin/contract.ts'
import { api } from '../../app/api.ts'
import { t } from '../../app/language.ts'
import type { Resource } from '../../app/resource.ts'
import { pathTo } from '../../app/router.ts'
import { toast, toastError } from '../../app/toasts.tsx'
import { confirm } from '../../kit/index.ts'

export type Models = Resource<List<ModelView>>

/** The answer to a change is the model as it is now: it is shown at once. */
export function show(models: Models, changed: ModelView): void {
  models.mutate(({ data, next }) => ({
    data: data.some(({ id }) => id === changed.id)
      ? data.map(model => (model.id === changed.id ? changed : model))
      : [...data, changed],
    next,
  }))
}

/** On is the default: taking "off" back leaves nothing behind. */
export async function setEnabled(models: Models, { id }: ModelView, isEnabled: boolean): Promise<void> {
  try {
    const changed = await api.patch<ModelView>(pathTo('models', id), { enabled: isEnabled ? null : false })
    show(models, changed)
    const texts = t().models
    toast(isEnabled ? texts.isOn(id) : texts.isOff(id), {
      action: {
        label: isEnabled ? texts.switchOff : texts.switchOn,
        run: () => setEnabled(models, changed, !isEnabled),
      },
    })
  } catch (error) {
    toastError(error)
  }
}

/** Deletes what was added here, or brings a built-in model back as it was. True if it was done. */
export async function remove(models: Models, { id, overrides }: ModelView): Promise<boolean> {
  const texts = overrides ? t().models.restore : t().models.remove
  const isSure = await confirm({
    title: texts.title(id),
    text: texts.text,
    action: texts.action,
    isDangerous: !overrides,
  })
  if (!isSure) return false
  try {
    await api.delete(pathTo('models', id))
    if (!overrides) models.mutate(({ data, next }) => ({ data: data.filter(model => model.id !== id), next }))
    toast(texts.done(id))
    await models.reload()
    return true
  } catch (error) {
    toastError(error)
    return false
  }
}
