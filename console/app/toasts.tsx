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

const SHOWN_MS = 4_000
/** A fault takes longer to read, and a button longer to reach. */
const SHOWN_LONG_MS = 8_000

/** One at a time: the newest says what was just done. */
const shown = signal<Toast | null>(null)
let last = 0

/** `toast(t().keys.revoked)`; with an action: `toast(text, { action: { label, run } })`. */
export function toast(text: string, options: Partial<Pick<Toast, 'tone' | 'action'>> = {}): void {
  const id = ++last
  const next: Toast = { id, text, tone: 'good', ...options }
  shown.value = next
  setTimeout(() => dismiss(id), next.action || next.tone === 'bad' ? SHOWN_LONG_MS : SHOWN_MS)
}

/** For work without a form: `await run.catch(toastError)`. */
export function toastError(error: unknown): void {
  toast(errorText(asApiError(error)), { tone: 'bad' })
}

function dismiss(id: number): void {
  if (shown.value?.id === id) shown.value = null
}

export function ToastHost() {
  const host = useRef<HTMLDivElement>(null)
  const current = shown.value
  // As a popover it is above dialogs, which are above everything else.
  useEffect(() => {
    const element = host.current
    if (!element) return
    if (element.matches(':popover-open')) element.hidePopover()
    if (current) element.showPopover()
  }, [current])
  return (
    <div ref={host} class="toasts" popover="manual" role="status" aria-live="polite">
      {current && <ToastView key={current.id} toast={current} />}
    </div>
  )
}

function ToastView({ toast: { id, text, tone, action } }: { readonly toast: Toast }) {
  return (
    <div class={`toast ${tone}`}>
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
  )
}
