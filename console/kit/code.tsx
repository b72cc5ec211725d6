import { CopyIcon } from './copy.tsx'

interface CodeProps {
  readonly text: string
  /** Read out: "Request for curl". */
  readonly label: string
  readonly isWrapped?: boolean
  /** Long ones scroll inside. */
  readonly isLow?: boolean
}

export function Code({ text, label, isWrapped = false, isLow = false }: CodeProps) {
  const classes = ['code', isWrapped && 'wrapped', isLow && 'low'].filter(Boolean).join(' ')
  return (
    <div class={classes}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable without a pointer. */}
      <pre tabIndex={0} aria-label={label} role="region">
        <code>{text}</code>
      </pre>
      <CopyIcon text={text} />
    </div>
  )
}
