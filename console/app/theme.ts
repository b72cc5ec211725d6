import { signal } from '@preact/signals'
import { keep, kept } from './keep.ts'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const asTheme = (text: string | null): Theme => THEMES.find(theme => theme === text) ?? 'system'

export const theme = signal<Theme>(asTheme(kept('theme')))

const listeners = new Set<() => void>()

export function chooseTheme(next: Theme): void {
  theme.value = next
  keep('theme', next)
  paint()
}

/** `boot.ts` has painted the first time, before anything was seen. */
export function followSystem(): void {
  systemIsDark().addEventListener('change', paint)
}

/** Called when colours change: by choice, or because the system went dark. Canvases must be drawn again then. */
export function onColours(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function paint(): void {
  const system = systemIsDark().matches ? 'dark' : 'light'
  document.documentElement.dataset.theme = theme.value === 'system' ? system : theme.value
  for (const listener of listeners) listener()
}

const systemIsDark = () => matchMedia('(prefers-color-scheme: dark)')
