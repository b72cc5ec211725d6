import { useCallback, useEffect, useRef } from 'preact/hooks'

/** Runs `work` soon, but never twice within `ms`: calls in between count as one. For what events would repeat too often. */
export function useThrottled(work: () => unknown, ms: number): () => void {
  const latest = useRef(work)
  latest.current = work
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const last = useRef(0)
  useEffect(() => () => clearTimeout(timer.current), [])
  return useCallback(() => {
    if (timer.current !== undefined) return
    const run = () => {
      timer.current = undefined
      last.current = Date.now()
      latest.current()
    }
    timer.current = setTimeout(run, Math.max(0, last.current + ms - Date.now()))
  }, [ms])
}
