// Runs before the first paint, as a script of its own that imports nothing: who likes it dark must not see a white flash.
// The page always says which colours it has; `theme.ts` goes on from there.
let chosen: string | null = null
try {
  chosen = localStorage.getItem('duet.theme')
} catch {
  // A browser that keeps nothing for us follows the system.
}
const isDark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
document.documentElement.dataset.theme = isDark ? 'dark' : 'light'

export {}
