import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { ApiError } from '../../app/api.ts'
import type { Submission } from '../../kit/index.ts'

/** What the server found wrong, sorted to the fields it concerns. */
export interface Faults {
  /** For a field, in one text; undefined if it is fine. */
  of(field: string): string | undefined
  /** What belongs to no field. */
  readonly rest: readonly string[]
}

/**
 * A definition is refused with all its faults at once, one a line, each with its path: `timeout.idle: must be …`. The
 * longest field that a path begins with shows it.
 */
export function faultsOf(error: ApiError | undefined, fields: readonly string[]): Faults {
  const byField = new Map<string, string[]>()
  const rest: string[] = []
  for (const line of error?.code === 'invalid_field' ? error.message.split('\n') : []) {
    const [, path = '', problem = ''] = /^([^\s:]+): (.*)$/.exec(line) ?? []
    const field = fieldOf(path, fields)
    if (field === undefined) rest.push(line)
    else byField.set(field, [...(byField.get(field) ?? []), path === field ? problem : line])
  }
  return { of: field => byField.get(field)?.join('\n'), rest }
}

const fieldOf = (path: string, fields: readonly string[]): string | undefined =>
  fields
    .filter(field => path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`))
    .sort((a, b) => b.length - a.length)[0]

/** Leads to the first thing that is wrong once a form was sent: in a long one it may be out of sight. */
export function useFirstFault({ isBusy }: Submission): RefObject<HTMLDivElement | null> {
  const root = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const first = isBusy ? null : root.current?.querySelector<HTMLElement>('[aria-invalid=true], .field-error')
    first?.focus({ preventScroll: true })
    first?.scrollIntoView({ block: 'center' })
  }, [isBusy])
  return root
}
