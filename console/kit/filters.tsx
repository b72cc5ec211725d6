import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { t } from '../app/language.ts'
import { query, setQuery } from '../app/router.ts'
import { Button } from './button.tsx'
import type { Option } from './field.tsx'
import { Icon } from './icon.tsx'

/** Filters live in the address: a link to a filtered list shows the same list. */

export function FilterBar({
  names,
  children,
}: {
  readonly names: readonly string[]
  readonly children: ComponentChildren
}) {
  const isFiltered = names.some(name => query.value.has(name))
  const nothing = Object.fromEntries(names.map(name => [name, null]))
  return (
    <search class="filters">
      {children}
      {isFiltered && (
        <Button kind="quiet" icon="close" onClick={() => setQuery(nothing)}>
          {t().common.clearFilters}
        </Button>
      )}
    </search>
  )
}

interface QuerySelectProps {
  /** Of the query parameter. */
  readonly name: string
  readonly label: string
  /** The first option, which removes the filter: "All models". */
  readonly all: string
  readonly options: readonly Option[]
}

export function QuerySelect({ name, label, all, options }: QuerySelectProps) {
  const value = query.value.get(name) ?? ''
  const isKnown = value === '' || options.some(option => option.value === value)
  return (
    <select
      class={value === '' ? 'input filter' : 'input filter is-set'}
      aria-label={label}
      value={value}
      onChange={event => setQuery({ [name]: event.currentTarget.value })}
    >
      <option value="">{all}</option>
      {!isKnown && <option value={value}>{value}</option>}
      {options.map(option => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  )
}

const TYPING_MS = 250

interface QuerySearchProps {
  readonly name: string
  readonly label: string
  /** Instead of the filter, for something that leads elsewhere, such as a whole request id; true if it did. */
  readonly onEnter?: (value: string) => boolean
}

/** The field that `/` goes to. */
export function QuerySearch({ name, label, onEnter }: QuerySearchProps) {
  const id = useId()
  const inAddress = query.value.get(name) ?? ''
  const typed = useSignal(inAddress)
  // The address follows what is typed; only what somebody else wrote there replaces it, or letters would be lost.
  const written = useRef(inAddress)
  const write = (text: string) => {
    written.current = text
    setQuery({ [name]: text })
  }
  useEffect(() => {
    if (inAddress === written.current) return
    written.current = inAddress
    typed.value = inAddress
  }, [inAddress])
  useEffect(() => {
    if (typed.value.trim() === inAddress) return
    const wait = setTimeout(() => write(typed.peek().trim()), TYPING_MS)
    return () => clearTimeout(wait)
  }, [typed.value])
  return (
    <form
      class="input-frame filter-search"
      onSubmit={event => {
        event.preventDefault()
        if (!onEnter?.(typed.value.trim())) write(typed.value.trim())
      }}
    >
      <Icon name="search" />
      <input
        id={id}
        type="search"
        data-filter=""
        aria-label={label}
        placeholder={label}
        autoComplete="off"
        spellcheck={false}
        value={typed}
        onInput={event => {
          typed.value = event.currentTarget.value
        }}
        onKeyDown={event => {
          if (event.key === 'Escape') event.currentTarget.blur()
        }}
      />
    </form>
  )
}
