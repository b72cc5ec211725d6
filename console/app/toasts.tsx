import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { IconButton } from '../kit/button.tsx'
import { errorText } from '../kit/form.tsx'
import { Icon } from '../kit/icon.tsx'
import { t } from './language.ts'
import { asApiError } from './resource.ts'

interface Toast {
  readonly id: number
  readonly text: string
  readonly tone: 'good' | 'bad'
  readonly action?: { readonly label: string; readonly run: () => void }
}

const SHOWN_MS = 5_000
const SHOWN_MAX = 3

const toasts = signal<readonly Toast[]>([])
let last = 0

/** `toast(t().keys.revoked)`; with an action: `toast(text, { action: { label, run } })`. */
export function toast(text: string, options: Partial<Pick<Toast, 'tone' | 'action'>> = {}): void {
  const id = ++last
  toasts.value = [...toasts.value, { id, text, tone: 'good' as const, ...options }].slice(-SHOWN_MAX)
  setTimeout(() => dismiss(id), SHOWN_MS)
}

/** For work without a form: `await run.catch(toastError)`. */
export function toastError(error: unknown): void {
  toast(errorText(asApiError(error)), { tone: 'bad' })
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter(toast => toast.id !== id)
}

export function ToastHost() {
  const host = useRef<HTMLDivElement>(null)
  const count = toasts.value.length
  // As a popover it is above dialogs, which are above everything else.
  useEffect(() => {
    const element = host.current
    if (!element) return
    if (element.matches(':popover-open')) element.hidePopover()
    if (count > 0) element.showPopover()
  }, [count])
  return (
    <div ref={host} class="toasts" popover="manual" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, tone, action }) => (
        <div key={id} class={`toast ${tone}`}>
          <Icon name={tone === 'good' ? 'check' : 'warning'} />
          <span>{text}</span>
          {action && (
            <button
              type="button"
              class="button quiet small"
              onClick={() => {
                dismiss(id)
                action.run()
              }}
            >
              {action.label}
            </button>
          )}
          <IconButton icon="close" label={t().common.close} onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  )
}
