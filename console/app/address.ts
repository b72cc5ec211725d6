/** Addresses of the console: `/console/<page>/<part>/...?filters`. */

export const BASE = '/console'

export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>

export interface Place {
  /** The first part: `keys`; empty for the overview. */
  readonly page: string
  /** The parts after it, decoded. */
  readonly rest: readonly string[]
}

export function placeOf(path: string): Place {
  const [page = '', ...rest] = path.slice(1).split('/').filter(Boolean).map(decoded)
  return { page, rest }
}

/** Without the base and without slashes at the end; `/` for the overview. */
export function pathOf(pathname: string): string {
  const path = pathname.startsWith(BASE) ? pathname.slice(BASE.length) : pathname
  let end = path.length
  while (end > 1 && path[end - 1] === '/') end--
  return path.slice(0, end) || '/'
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** An address for `href`: `href('/requests', { status: 'ok' })`. */
export function href(path: string, query: Query = {}): string {
  return BASE + (path === '/' ? '' : path) + searchOf(query)
}

/** Of a path whose parts may have slashes in them, such as ids of models. */
export function pathTo(...parts: readonly string[]): string {
  return `/${parts.map(encodeURIComponent).join('/')}`
}

/** Empty values are left out: a filter that is not set is not in the address. */
export function searchOf(query: Query): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '' && value !== false) search.set(name, String(value))
  }
  return search.size === 0 ? '' : `?${search}`
}
