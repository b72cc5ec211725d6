import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

export interface Tab<V extends string = string> {
  readonly id: V
  readonly label: string
}

interface TabsProps<V extends string> {
  readonly label: string
  readonly tabs: readonly Tab<V>[]
  readonly current: V
  readonly onChange: (id: V) => void
  /** What belongs to the current tab. */
  readonly children: ComponentChildren
}

export function Tabs<V extends string>({ label, tabs, current, onChange, children }: TabsProps<V>) {
  const id = useId()
  const at = tabs.findIndex(tab => tab.id === current)
  const step = (by: number) => {
    const next = tabs[(at + by + tabs.length) % tabs.length]
    if (!next) return
    onChange(next.id)
    document.getElementById(`${id}-${next.id}`)?.focus()
  }
  return (
    <div class="tabs">
      <div
        class="tab-list"
        role="tablist"
        aria-label={label}
        onKeyDown={event => {
          if (event.key === 'ArrowRight') step(1)
          else if (event.key === 'ArrowLeft') step(-1)
          else return
          event.preventDefault()
        }}
      >
        {tabs.map(tab => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${id}-${tab.id}`}
            aria-selected={tab.id === current}
            aria-controls={`${id}-panel`}
            tabIndex={tab.id === current ? 0 : -1}
            onClick={() => onChange(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${current}`}>
        {children}
      </div>
    </div>
  )
}

interface SegmentsProps<V extends string> {
  readonly label: string
  readonly options: readonly { readonly value: V; readonly label: string }[]
  readonly value: V
  readonly onChange: (value: V) => void
}

/** A few choices of which one holds, all in sight. */
export function Segments<V extends string>({ label, options, value, onChange }: SegmentsProps<V>) {
  const name = useId()
  return (
    <fieldset class="segments">
      <legend class="hidden-text">{label}</legend>
      {options.map(option => (
        <label key={option.value}>
          <input type="radio" name={name} checked={option.value === value} onChange={() => onChange(option.value)} />
          <span>{option.label}</span>
        </label>
      ))}
    </fieldset>
  )
}
