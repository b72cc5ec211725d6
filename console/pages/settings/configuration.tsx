import { useSignal } from '@preact/signals'
import type { ReloadView } from '../../../src/admin/contract.ts'
import { type ApiError, api } from '../../app/api.ts'
import { t } from '../../app/language.ts'
import { asApiError } from '../../app/resource.ts'
import { toast } from '../../app/toasts.tsx'
import { Button, Code, errorText, Note, Section } from '../../kit/index.ts'

export function Configuration() {
  const texts = t().settings
  const isBusy = useSignal(false)
  const error = useSignal<ApiError | undefined>(undefined)
  const reload = async () => {
    isBusy.value = true
    error.value = undefined
    try {
      const { models, channels } = await api.post<ReloadView>('/config/reload')
      toast(texts.reloaded(models, channels))
    } catch (thrown) {
      error.value = asApiError(thrown)
    } finally {
      isBusy.value = false
    }
  }
  const button = (
    <Button icon="refresh" isBusy={isBusy.value} onClick={reload}>
      {texts.reload}
    </Button>
  )
  return (
    <Section title={texts.configuration} text={texts.configurationText} actions={button}>
      {error.value && <Faults error={error.value} />}
    </Section>
  )
}

function Faults({ error }: { readonly error: ApiError }) {
  if (error.code !== 'invalid_config') return <Note tone="bad">{errorText(error)}</Note>
  return (
    <div class="stack">
      <Note tone="bad" title={t().settings.faults} />
      <Code label={t().settings.faults} text={error.message} isWrapped />
    </div>
  )
}
