import { useLayoutEffect, useRef } from 'preact/hooks'

/** Shortcuts of one letter, and of `g` and a letter. They rest while somebody types or a dialog asks something. */

export type Shortcuts = Readonly<Record<string, () => void>>

/** After `g`, for so long the next letter is taken together with it. */
const SEQUENCE_MS_MAX = 1_200

const registered: Shortcuts[] = []
let prefix: { readonly key: string; readonly at: number } | undefined

/** `addShortcuts({ '/': focusFilter, 'g k': () => go('/keys') })`. What was added last wins. */
export function addShortcuts(shortcuts: Shortcuts): () => void {
  registered.unshift(shortcuts)
  return () => {
    registered.splice(registered.indexOf(shortcuts), 1)
  }
}

export function useShortcuts(shortcuts: Shortcuts): void {
  const latest = useRef(shortcuts)
  latest.current = shortcuts
  const names = Object.keys(shortcuts).join(' | ')
  // With the content, not after it was painted: who sees a list may press a key at once.
  useLayoutEffect(() => {
    const stable = Object.fromEntries(Object.keys(latest.current).map(key => [key, () => latest.current[key]?.()]))
    return addShortcuts(stable)
  }, [names])
}

export function startShortcuts(): void {
  document.addEventListener('keydown', event => {
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return
    if (isTyping(event.target) || document.querySelector('dialog:modal')) return
    const run = find(event)
    if (!run) return
    event.preventDefault()
    run()
  })
}

function find({ key, timeStamp }: KeyboardEvent): (() => void) | undefined {
  const isSequence = prefix !== undefined && timeStamp - prefix.at < SEQUENCE_MS_MAX
  const name = isSequence ? `${prefix?.key} ${key}` : key
  prefix = key === 'g' && !isSequence ? { key, at: timeStamp } : undefined
  return registered.find(shortcuts => Object.hasOwn(shortcuts, name))?.[name]
}

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button', 'submit'].includes(target.type)
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable
}

export const isApple = /mac|iphone|ipad/i.test(navigator.userAgent)

/** As it stands on the keyboard in front of us. */
export const MOD = isApple ? '⌘' : 'Ctrl'
