import { computed, signal } from '@preact/signals'
import { BASE, href, pathOf, placeOf, type Query, searchOf } from './address.ts'

export { href, type Place, pathTo, type Query } from './address.ts'

/** Where we are is the address bar's to say: path, filters and page number survive a reload, a bookmark and "back". */

const address = signal({ path: pathOf(location.pathname), search: location.search })

/** Without the base, `/` for the overview: `/keys/new`. */
export const path = computed(() => address.value.path)
export const query = computed(() => new URLSearchParams(address.value.search))

export const place = computed(() => placeOf(path.value))

export interface GoOptions {
  readonly query?: Query
  /** Instead of a new entry in the history. */
  readonly replace?: boolean
  readonly state?: unknown
}

export function go(path: string, { query, replace = false, state = null }: GoOptions = {}): void {
  const [bare = '/', search = ''] = path.split('?')
  move(href(bare) + (query ? searchOf(query) : search && `?${search}`), { replace, state })
}

/** Changes some of the query and keeps the rest; another filter begins on the first page again. */
export function setQuery(changes: Query, { replace = true, state = null }: Omit<GoOptions, 'query'> = {}): void {
  const next: Record<string, string> = {}
  for (const [name, value] of query.value) if (name !== 'cursor') next[name] = value
  move(href(path.value, { ...next, ...changes }), { replace, state })
}

function move(url: string, { replace, state }: { replace: boolean; state: unknown }): void {
  const before = path.value
  if (replace) history.replaceState(state, '', url)
  else history.pushState(state, '', url)
  follow()
  if (path.value === before) return
  const isSamePage = placeOf(before).page === place.value.page
  for (const listener of arrivals) listener(isSamePage)
}

function follow(): void {
  address.value = { path: pathOf(location.pathname), search: location.search }
}

const arrivals = new Set<(isSamePage: boolean) => void>()

/** Called after a move to another path that was not "back" or "forward"; the same page is a list and its details. */
export function onArrival(listener: (isSamePage: boolean) => void): () => void {
  arrivals.add(listener)
  return () => arrivals.delete(listener)
}

/** Plain links become moves without a page load; those that ask for a new tab or a download stay links. */
export function startRouter(): void {
  addEventListener('popstate', follow)
  document.addEventListener('click', event => {
    if (event.defaultPrevented || event.button !== 0 || hasModifier(event)) return
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (!link || link.origin !== location.origin || link.hasAttribute('download')) return
    if (link.target !== '' || !isOurs(link.pathname) || (link.hash !== '' && link.pathname === location.pathname))
      return
    event.preventDefault()
    move(link.pathname + link.search + link.hash, { replace: link.dataset.replace === '', state: null })
  })
}

const isOurs = (pathname: string) => pathname === BASE || pathname.startsWith(`${BASE}/`)

const hasModifier = (event: MouseEvent) => event.metaKey || event.ctrlKey || event.shiftKey || event.altKey
