import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

interface PageHeaderProps {
  readonly title: string
  readonly text?: ComponentChildren
  /** Buttons at the end. */
  readonly actions?: ComponentChildren
}

/** The one `h1` of a page. */
export function PageHeader({ title, text, actions }: PageHeaderProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  // Whoever came by the menu goes on reading here, not at the menu's next link.
  useEffect(() => {
    if (document.activeElement?.closest('nav')) heading.current?.focus({ preventScroll: true })
  }, [])
  useEffect(() => {
    document.title = `${title} · Duet`
  }, [title])
  return (
    <header class="page-header">
      <div>
        <h1 tabIndex={-1} ref={heading}>
          {title}
        </h1>
        {text && <p>{text}</p>}
      </div>
      {actions && <div class="page-actions">{actions}</div>}
    </header>
  )
}

interface SectionProps {
  readonly title: string
  readonly text?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

export function Section({ title, text, actions, children }: SectionProps) {
  return (
    <section class="section">
      <header class="section-header">
        <div>
          <h2>{title}</h2>
          {text && <p>{text}</p>}
        </div>
        {actions && <div class="page-actions">{actions}</div>}
      </header>
      {children}
    </section>
  )
}

export function Card({
  children,
  isTight = false,
}: {
  readonly children: ComponentChildren
  readonly isTight?: boolean
}) {
  return <div class={isTight ? 'card' : 'card padded'}>{children}</div>
}

/** Names and values, two columns where there is room. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ComponentChildren] | false | null)[] }) {
  return (
    <dl class="facts">
      {facts.map(
        fact =>
          fact && (
            <div key={fact[0]}>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </div>
          ),
      )}
    </dl>
  )
}
