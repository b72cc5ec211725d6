import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { useShortcuts } from '../app/keys.ts'
import { t } from '../app/language.ts'
import { IconButton } from './button.tsx'

interface DialogProps {
  readonly title: ComponentChildren
  readonly onClose: () => void
  /** `panel` comes from the side and is as high as the window. */
  readonly look?: 'small' | 'medium' | 'large' | 'panel'
  /** Buttons, in a row at the end. */
  readonly footer?: ComponentChildren
  /** False for one that leaves the page behind it usable, such as a panel beside a list. */
  readonly isModal?: boolean
  /** False where leaving by accident would lose something that is shown only once. */
  readonly isDismissible?: boolean
  readonly children: ComponentChildren
}

/** Open as long as it is drawn. The browser keeps the focus inside and gives it back. */
export function Dialog({ title, onClose, look = 'medium', footer, children, ...options }: DialogProps) {
  const { isModal = true, isDismissible = true } = options
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  // One beside the page is closed from the page too; a modal one hears Escape by itself.
  useShortcuts(isModal ? {} : { Escape: onClose })

  // Before the next key arrives: what is typed right after a shortcut belongs into the dialog that it opens.
  useLayoutEffect(() => {
    const element = dialog.current
    if (!element || element.open) return
    const before = document.activeElement
    if (isModal) element.showModal()
    else element.show()
    const first = element.querySelector<HTMLElement>('[autofocus]')
    first?.focus()
    return () => {
      element.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])

  return (
    <dialog
      ref={dialog}
      class={`dialog ${look}`}
      aria-labelledby={titleId}
      onCancel={event => {
        event.preventDefault()
        if (isDismissible) onClose()
      }}
      onKeyDown={event => {
        if (event.key !== 'Escape' || isModal || event.defaultPrevented) return
        event.preventDefault()
        onClose()
      }}
      onMouseDown={event => {
        if (isModal && isDismissible && event.target === event.currentTarget) onClose()
      }}
    >
      <div class="dialog-body">
        <header class="dialog-header">
          <h2 id={titleId}>{title}</h2>
          {isDismissible && <IconButton icon="close" label={t().common.close} onClick={onClose} />}
        </header>
        <div class="dialog-content">{children}</div>
        {footer && <footer class="dialog-footer">{footer}</footer>}
      </div>
    </dialog>
  )
}
