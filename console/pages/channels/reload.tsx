import { useSignal } from '@preact/signals'
import type { ReloadView } from '../../../src/admin/contract.ts'
import { ApiError, api } from '../../app/api.ts'
import { t } from '../../app/language.ts'
import { toast, toastError } from '../../app/toasts.tsx'
import { Button, Dialog } from '../../kit/index.ts'

/** Reads `duet.yaml` again. A faulty one is refused whole, and everything that is wrong with it is listed. */
export function ReloadButton({ size = 'medium' }: { readonly size?: 'small' | 'medium' }) {
  const texts = t().channels.reload
  const isBusy = useSignal(false)
  const faults = useSignal<readonly string[]>([])
  const reload = async () => {
    isBusy.value = true
    try {
      const { models, channels } = await api.post<ReloadView>('/config/reload')
      faults.value = []
      toast(texts.done(models, channels))
    } catch (error) {
      if (error instanceof ApiError && error.code === 'invalid_config') faults.value = error.message.split('\n')
      else toastError(error)
    } finally {
      isBusy.value = false
    }
  }
  return (
    <>
      <Button icon="refresh" size={size} isBusy={isBusy.value} onClick={reload}>
        {texts.action}
      </Button>
      {faults.value.length > 0 && (
        <Dialog
          title={texts.faultsTitle}
          onClose={() => {
            faults.value = []
          }}
          footer={
            <Button kind="primary" icon="refresh" isBusy={isBusy.value} onClick={reload}>
              {texts.action}
            </Button>
          }
        >
          <div class="stack">
            <p>{texts.faultsText}</p>
            <FaultList faults={faults.value} />
          </div>
        </Dialog>
      )}
    </>
  )
}

/** Faults of the configuration, each with its path. */
export function FaultList({ faults }: { readonly faults: readonly string[] }) {
  return (
    <div role="alert">
      <ul class="channels-faults">
        {faults.map(fault => {
          const [, path, problem] = /^(\S+?): (.*)$/s.exec(fault) ?? []
          return (
            <li key={fault}>
              {path === undefined ? (
                fault
              ) : (
                <>
                  <code>{path}</code> {problem}
                </>
              )}
            </li>
          )
        })}
      </ul>
    </div>
  )
}
