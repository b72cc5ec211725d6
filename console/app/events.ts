import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { EventViews } from '../../src/admin/contract.ts'
import { api } from './api.ts'

/** One stream for the whole console, while somebody is signed in and looks at it. */

export type Connection = 'connecting' | 'live' | 'lost'
export const connection = signal<Connection>('connecting')

/** `ping` only keeps the connection open. */
type Name = Exclude<keyof EventViews, 'ping'>
type Handler<N extends Name> = (event: EventViews[N]) => void

const NAMES: readonly Name[] = ['hello', 'usage', 'catalog']
const RETRY_MS_MIN = 250
const RETRY_MS_MAX = 10_000
/** A stream that was open for so long ended by itself, and the next may be opened at once. */
const STEADY_MS_MIN = 5_000
/** The server ends a stream now and then; one that is back so soon was never lost. */
const LOST_AFTER_MS = 1_500
/** Browsers allow few connections to one server: tabs in the background give theirs up. */
const HIDDEN_MS_MAX = 10_000

const handlers: { readonly [N in Name]: Set<Handler<N>> } = { hello: new Set(), usage: new Set(), catalog: new Set() }

let source: EventSource | undefined
let retry: ReturnType<typeof setTimeout> | undefined
let losing: ReturnType<typeof setTimeout> | undefined
let hiding: ReturnType<typeof setTimeout> | undefined
let waitMs = RETRY_MS_MIN
let openedAt = 0
let isWanted = false
let isAway = false
let hasGreeted = false

/** `hello` comes when the stream is back after a break: what was shown may be old. */
export function onEvent<N extends Name>(name: N, handler: Handler<N>): () => void {
  handlers[name].add(handler)
  return () => handlers[name].delete(handler)
}

/** While a component is shown; it may close over whatever it was last drawn with. */
export function useEvent<N extends Name>(name: N, handler: Handler<N>): void {
  const latest = useRef(handler)
  latest.current = handler
  useEffect(() => onEvent(name, event => latest.current(event)), [name])
}

export function startEvents(): void {
  if (isWanted) return
  isWanted = true
  connection.value = 'connecting'
  document.addEventListener('visibilitychange', followVisibility)
  open()
}

export function stopEvents(): void {
  isWanted = false
  hasGreeted = false
  document.removeEventListener('visibilitychange', followVisibility)
  clearTimeout(hiding)
  close()
}

function open(): void {
  if (source || !isWanted) return
  clearTimeout(retry)
  source = new EventSource('/api/events')
  for (const name of NAMES) source.addEventListener(name, event => deliver(name, event.data))
  source.addEventListener('open', () => {
    openedAt = Date.now()
    clearTimeout(losing)
    losing = undefined
    connection.value = 'live'
  })
  source.addEventListener('error', () => {
    source?.close()
    source = undefined
    losing ??= setTimeout(() => {
      connection.value = 'lost'
    }, LOST_AFTER_MS)
    if (Date.now() - openedAt > STEADY_MS_MIN) waitMs = RETRY_MS_MIN
    resume()
  })
}

/** Why a stream ended is not told; a session that has ended is told to whoever asks, and they are led to the sign-in. */
async function resume(): Promise<void> {
  await api.get('/session').catch(() => undefined)
  if (!isWanted || isAway) return
  clearTimeout(retry)
  retry = setTimeout(open, waitMs)
  waitMs = Math.min(waitMs * 2, RETRY_MS_MAX)
}

function close(): void {
  clearTimeout(retry)
  clearTimeout(losing)
  losing = undefined
  source?.close()
  source = undefined
}

function followVisibility(): void {
  clearTimeout(hiding)
  isAway = false
  if (document.hidden) hiding = setTimeout(rest, HIDDEN_MS_MAX)
  else open()
}

function rest(): void {
  isAway = true
  close()
}

function deliver<N extends Name>(name: N, text: string): void {
  // Whoever is there for the first one has just asked for everything.
  if (name === 'hello' && !hasGreeted) {
    hasGreeted = true
    return
  }
  const event = JSON.parse(text) as EventViews[N]
  for (const handler of handlers[name]) handler(event)
}
