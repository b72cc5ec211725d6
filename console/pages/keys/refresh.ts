import { useEffect, useRef } from 'preact/hooks'

/** Runs `work` at once, and then at most every so often: what happens meanwhile is caught up with at the end. */
export function useThrottled(work: () => unknown, everyMs: number): () => void {
  const latest = useRef(work)
  latest.current = work
  const state = useRef<{ lastAt: number; timer: ReturnType<typeof setTimeout> | undefined }>({
    lastAt: 0,
    timer: undefined,
  })
  useEffect(() => () => clearTimeout(state.current.timer), [])
  return () => {
    const { current } = state
    if (current.timer !== undefined) return
    const run = () => {
      current.timer = undefined
      current.lastAt = Date.now()
      latest.current()
    }
    const waitMs = current.lastAt + everyMs - Date.now()
    if (waitMs <= 0) run()
    else current.timer = setTimeout(run, waitMs)
  }
}
