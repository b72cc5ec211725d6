import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { List, UsageView } from '../../../src/admin/contract.ts'
import { useEvent } from '../../app/events.ts'
import { keep, kept } from '../../app/keep.ts'
import type { Pages } from '../../app/resource.ts'
import { matches, type RequestFilter } from './filter.ts'

export interface Tail {
  readonly isOn: boolean
  toggle(): void
  /** On, but resting because somebody reads. */
  readonly isPaused: boolean
  /** Came while it rested. */
  readonly waiting: number
  /** Shows those. */
  flush(): void
}

/** A list that has grown to this is asked for again from the top: a page is not for keeping a day of traffic. */
const ROWS_MAX = 300

/** How long ago the list must be from for a new connection to ask again. */
const FRESH_MS = 1_500

/** New requests come on top by themselves, as long as the first page is shown and nobody is reading it. */
export function useTail(list: Pages<UsageView, List<UsageView>>, filter: RequestFilter, isResting: boolean): Tail {
  const isOn = useSignal(kept('live') !== 'off')
  const waiting = useSignal<readonly UsageView[]>([])
  const loadedAt = useSignal(0)
  const isPaused = isOn.value && (isResting || !list.isFirst)
  const which = JSON.stringify(filter)

  useEffect(() => {
    waiting.value = []
  }, [which, list.isFirst])
  useEffect(() => {
    if (!list.isLoading) loadedAt.value = Date.now()
  }, [list.isLoading])

  const show = (rows: readonly UsageView[]) => {
    if (rows.length === 0) return
    if ((list.rows?.length ?? 0) + rows.length > ROWS_MAX) list.reload()
    else list.mutate(page => ({ ...page, data: onTop(page.data, rows) }))
  }
  const flush = () => {
    show(waiting.value)
    waiting.value = []
  }
  useEvent('usage', ({ rows }) => {
    if (!isOn.value || !list.isFirst) return
    // Newest last, as they come; a list is the other way round.
    const fresh = rows.filter(row => matches(row, filter)).toReversed()
    if (isPaused) waiting.value = onTop(waiting.value, fresh).slice(0, ROWS_MAX)
    else show(fresh)
  })
  // What happened while nobody listened is in no event.
  useEvent('hello', () => {
    if (isOn.value && !isPaused && !list.isLoading && Date.now() - loadedAt.value > FRESH_MS) list.reload()
  })
  useEffect(() => {
    if (!isPaused && list.isFirst) flush()
  }, [isPaused])

  return {
    isOn: isOn.value,
    isPaused,
    waiting: waiting.value.length,
    flush,
    toggle() {
      isOn.value = !isOn.value
      keep('live', isOn.value ? 'on' : 'off')
      waiting.value = []
      if (isOn.value) list.reload()
    },
  }
}

function onTop(rows: readonly UsageView[], fresh: readonly UsageView[]): readonly UsageView[] {
  const known = new Set(rows.map(row => row.request_id))
  return [...fresh.filter(row => !known.has(row.request_id)), ...rows]
}
