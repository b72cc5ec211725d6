import type { ComponentChildren } from 'preact'

interface PartProps {
  readonly title: string
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** A section of a panel or a dialog, whose own title is the `h2`. */
export function Part({ title, actions, children }: PartProps) {
  return (
    <section class="part">
      <header class="part-header">
        <h3>{title}</h3>
        {actions}
      </header>
      {children}
    </section>
  )
}
