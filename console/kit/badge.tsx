import type { ComponentChildren } from 'preact'

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'accent'

interface BadgeProps {
  readonly tone?: Tone
  /** A dot before the text, for states. */
  readonly hasDot?: boolean
  readonly title?: string
  readonly children: ComponentChildren
}

export function Badge({ tone = 'neutral', hasDot = false, title, children }: BadgeProps) {
  return (
    <span class={`badge ${tone}`} title={title}>
      {hasDot && <span class="dot" aria-hidden="true" />}
      {children}
    </span>
  )
}
