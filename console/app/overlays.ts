import { signal } from '@preact/signals'

/** What can lie over every page. Both are fetched when they are first opened. */
export const isPaletteOpen = signal(false)
export const isHelpOpen = signal(false)
