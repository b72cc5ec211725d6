import { useSignal } from '@preact/signals'
import { useCallback, useEffect, useRef } from 'preact/hooks'
import type { List } from '../../src/admin/contract.ts'
import { type Query, searchOf } from './address.ts'
import { ApiError, api, isAbort } from './api.ts'
import { path as currentPath, go, query, setQuery } from './router.ts'

export interface Resource<T> {
  readonly data: T | undefined
  readonly error: ApiError | undefined
  /** True also while old data is shown and newer data is on its way. */
  readonly isLoading: boolean
  reload(): Promise<void>
  /** Asks again without a sign of it, because something was heard; if that fails, the old answer stays. */
  refresh(): Promise<void>
  /** Changes what is shown at once, before or instead of asking again. */
  mutate(change: (data: T) => T): void
}

/**
 * What the API says at an address; null asks nothing. While the same path is asked again, or with another query, the
 * old answer stays; another path begins with nothing, because it is about something else.
 */
export function useResource<T>(path: string | null, filters: Query = {}): Resource<T> {
  const url = path === null ? null : path + searchOf(filters)
  const state = useSignal<{ url: string | null; data: T | undefined; error: ApiError | undefined; isLoading: boolean }>(
    {
      url,
      data: undefined,
      error: undefined,
      isLoading: url !== null,
    },
  )
  const asked = useRef<AbortController | null>(null)

  const ask = useCallback(
    async ({ isQuiet }: { readonly isQuiet: boolean }) => {
      asked.current?.abort()
      if (url === null) return
      const asking = new AbortController()
      asked.current = asking
      const isSame = bareOf(state.peek().url) === bareOf(url)
      const data = isSame ? state.peek().data : undefined
      if (!isQuiet) state.value = { url, data, error: undefined, isLoading: true }
      try {
        const data = await api.get<T>(url, undefined, asking.signal)
        if (!asking.signal.aborted) state.value = { url, data, error: undefined, isLoading: false }
      } catch (error) {
        if (isAbort(error) || asking.signal.aborted) return
        const { data } = state.peek()
        const isHarmless = isQuiet && data !== undefined
        state.value = { url, data, error: isHarmless ? undefined : asApiError(error), isLoading: false }
      }
    },
    [url],
  )
  const load = useCallback(() => ask({ isQuiet: false }), [ask])
  const refresh = useCallback(() => ask({ isQuiet: true }), [ask])

  useEffect(() => {
    load()
    return () => asked.current?.abort()
  }, [load])

  const { value } = state
  const isAbout = bareOf(value.url) === bareOf(url)
  return {
    data: isAbout ? value.data : undefined,
    error: isAbout ? value.error : undefined,
    isLoading: isAbout ? value.isLoading : url !== null,
    reload: load,
    refresh,
    mutate(change) {
      const { data } = state.peek()
      if (data !== undefined) state.value = { ...state.peek(), data: change(data) }
    },
  }
}

const bareOf = (url: string | null) => url?.split('?')[0] ?? null

export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  console.error(error)
  return new ApiError({ status: 0, code: 'internal', message: error instanceof Error ? error.message : String(error) })
}

export interface Paging {
  readonly hasPrevious: boolean
  readonly hasNext: boolean
  previous(): void
  next(): void
}

export interface Pages<T, L extends List<T>> extends Resource<L> {
  readonly rows: readonly T[] | undefined
  readonly paging: Paging
  /** On the first page new rows can be put on top. */
  readonly isFirst: boolean
}

/**
 * A list of any length, one page at a time. The page is `?cursor=` in the address; the way back to earlier pages is in
 * the state of the history entry, so that it survives a reload.
 */
export function usePages<T, L extends List<T> = List<T>>(path: string | null, filters: Query = {}): Pages<T, L> {
  const cursor = query.value.get('cursor')
  const resource = useResource<L>(path, { ...filters, cursor })
  const next = resource.data?.next ?? null
  const trail = trailOf(history.state)
  return {
    ...resource,
    rows: resource.data?.data,
    isFirst: cursor === null,
    paging: {
      hasPrevious: cursor !== null,
      hasNext: next !== null,
      next: () =>
        next !== null && setQuery({ cursor: next }, { replace: false, state: { trail: [...trail, cursor ?? ''] } }),
      previous: () =>
        setQuery({ cursor: trail.at(-1) ?? null }, { replace: false, state: { trail: trail.slice(0, -1) } }),
    },
  }
}

function trailOf(state: unknown): readonly string[] {
  const trail = (state as { trail?: unknown } | null)?.trail
  return Array.isArray(trail) ? trail : []
}

/** Leaves a dialog or a panel that has an address of its own; the filters of the list behind it stay. */
export function closeTo(path: string): void {
  if (path === currentPath.value) return
  // With the way back to earlier pages of that list.
  go(path + (query.value.size > 0 ? `?${query.value}` : ''), { state: history.state })
}
