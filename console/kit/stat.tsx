import type { ComponentChildren } from 'preact'

interface StatProps {
  readonly label: string
  readonly value: ComponentChildren
  /** Below the number: what it means or what changed. */
  readonly hint?: ComponentChildren
  readonly title?: string
  /** Beside the number: a sparkline. */
  readonly aside?: ComponentChildren
  readonly tone?: 'neutral' | 'warn' | 'bad'
  readonly href?: string
}

export function Stat({ label, value, hint, title, aside, tone = 'neutral', href }: StatProps) {
  return (
    <div class={`stat ${tone}`}>
      <dt>{href ? <a href={href}>{label}</a> : label}</dt>
      <dd>
        <span class="stat-value" title={title}>
          {value}
        </span>
        {aside}
        {hint && <span class="stat-hint">{hint}</span>}
      </dd>
    </div>
  )
}

/** A row of numbers in one frame. */
export function Stats({ children }: { readonly children: ComponentChildren }) {
  return <dl class="stats card">{children}</dl>
}
