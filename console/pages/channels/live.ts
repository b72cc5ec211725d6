import { useEffect, useRef } from 'preact/hooks'
import { useEvent } from '../../app/events.ts'

/** Health changes with every request; asking again for each of them would be a flood. */
const TRAFFIC_MS = 2_000
/** A greeting so soon comes with the page itself, which has just asked. */
const GREETING_MS = 2_000

/** Keeps a view of the catalog true while it is shown: at once when it was changed, soon when there was traffic. */
export function useLive(reload: () => void): void {
  const waiting = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const shownAt = useRef(Date.now())
  const latest = useRef(reload)
  latest.current = reload
  const soon = () => {
    waiting.current ??= setTimeout(() => {
      waiting.current = undefined
      latest.current()
    }, TRAFFIC_MS)
  }
  useEvent('catalog', reload)
  useEvent('usage', soon)
  useEvent('hello', () => {
    if (Date.now() - shownAt.current > GREETING_MS) soon()
  })
  useEffect(() => () => clearTimeout(waiting.current), [])
}
