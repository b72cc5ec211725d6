import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'

interface NoteProps {
  readonly tone?: 'neutral' | 'accent' | 'good' | 'warn' | 'bad'
  readonly title?: ComponentChildren
  readonly children?: ComponentChildren
  /** What helps: a button or a link. */
  readonly action?: ComponentChildren
}

const ICONS: Readonly<Record<NonNullable<NoteProps['tone']>, IconName>> = {
  neutral: 'info',
  accent: 'info',
  good: 'check',
  warn: 'warning',
  bad: 'warning',
}

export function Note({ tone = 'neutral', title, children, action }: NoteProps) {
  return (
    <div class={`note ${tone}`} role={tone === 'bad' ? 'alert' : undefined}>
      <Icon name={ICONS[tone]} size={18} />
      <div class="note-text">
        {title && <strong>{title}</strong>}
        {children && <div>{children}</div>}
      </div>
      {action && <div class="note-action">{action}</div>}
    </div>
  )
}
