import { render } from 'preact'
import { App } from './app/app.tsx'
import { addShortcuts, startShortcuts } from './app/keys.ts'
import { restoreLanguage } from './app/language.ts'
import { currentRoute, loadPage } from './app/outlet.tsx'
import { isHelpOpen, isPaletteOpen } from './app/overlays.ts'
import { go, path, startRouter } from './app/router.ts'
import { ROUTES } from './app/routes.ts'
import { isAdmin, isOpenPage, loadSession, session } from './app/session.ts'
import { followSystem } from './app/theme.ts'
// All of the kit in one file with this, instead of in many small ones that pages share.
import './kit/index.ts'

startRouter()
startShortcuts()
followSystem()

addShortcuts({
  '?': () => {
    isHelpOpen.value = true
  },
  '/': () => document.querySelector<HTMLElement>('[data-filter]')?.focus(),
})
for (const [name, { nav, isForAdmins }] of Object.entries(ROUTES)) {
  if (nav?.key)
    addShortcuts({ [`g ${nav.key}`]: () => session.value && (!isForAdmins || isAdmin.value) && go(`/${name}`) })
}

// Works in fields and over dialogs too, as people expect of it.
document.addEventListener('keydown', event => {
  if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey) || !session.value) return
  if (isOpenPage(path.value)) return
  event.preventDefault()
  isPaletteOpen.value = !isPaletteOpen.value
})

// The page is fetched while the server says who we are; in the right language, which is why that comes first.
const restored = restoreLanguage()
const route = currentRoute()
if (route) loadPage(route)
const known = isOpenPage(path.value) ? Promise.resolve() : loadSession()

// No `await` of the module itself: pages import from it, and would wait for what waits for them.
Promise.all([restored, known]).then(() => {
  const root = document.getElementById('app')
  if (root) render(<App />, root)
})
