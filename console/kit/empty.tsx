import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'

interface EmptyProps {
  readonly icon?: IconName
  readonly title: string
  readonly text?: ComponentChildren
  readonly action?: ComponentChildren
}

/** Says why there is nothing, and how there would be something. */
export function Empty({ icon, title, text, action }: EmptyProps) {
  return (
    <div class="empty">
      {icon && (
        <div class="empty-icon">
          <Icon name={icon} size={22} />
        </div>
      )}
      <p class="empty-title">{title}</p>
      {text && <p>{text}</p>}
      {action && <div class="empty-action">{action}</div>}
    </div>
  )
}
