import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ConfirmHost } from '../kit/confirm.tsx'
import { Icon } from '../kit/icon.tsx'
import { Menu } from '../kit/menu.tsx'
import { Keys, Money } from '../kit/value.tsx'
import { balanceHint, balanceState } from './balance.ts'
import { connection } from './events.ts'
import { MOD, useShortcuts } from './keys.ts'
import { t } from './language.ts'
import { Lazy } from './lazy.tsx'
import { loadPage, Outlet } from './outlet.tsx'
import { isHelpOpen, isPaletteOpen } from './overlays.ts'
import { href, onArrival, place } from './router.ts'
import { ROUTES } from './routes.ts'
import { account, isAdmin, session, signOut } from './session.ts'
import { ToastHost } from './toasts.tsx'

const loadPalette = () => import('./palette.tsx').then(({ Palette }) => Palette)
const loadHelp = () => import('./help.tsx').then(({ Help }) => Help)

/** The frame around every page of somebody who is signed in. */
export function Layout() {
  const isMenuOpen = useSignal(false)
  const main = useRef<HTMLElement>(null)
  const sidebar = useRef<HTMLElement>(null)
  useShortcuts(isMenuOpen.value ? { Escape: () => (isMenuOpen.value = false) } : {})
  useEffect(() => {
    if (isMenuOpen.value) sidebar.current?.querySelector<HTMLElement>('nav a')?.focus()
  }, [isMenuOpen.value])
  useEffect(
    () =>
      onArrival(isSamePage => {
        isMenuOpen.value = false
        // A list must not jump when one of its rows is opened beside it.
        if (isSamePage) return
        main.current?.scrollTo({ top: 0 })
        scrollTo({ top: 0 })
      }),
    [],
  )
  return (
    <div class={isMenuOpen.value ? 'frame menu-open' : 'frame'}>
      <a class="skip" href="#content">
        {t().layout.skip}
      </a>
      <aside class="sidebar" ref={sidebar}>
        <div class="sidebar-top">
          <Logo />
          <Connection />
        </div>
        <SearchButton />
        <nav aria-label={t().layout.navigation}>
          <ul>
            {Object.keys(ROUTES).map(name => (
              <NavItem key={name} name={name} />
            ))}
          </ul>
        </nav>
        <div class="sidebar-end">
          <Balance />
          <User />
        </div>
      </aside>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: Escape and the links inside close it too. */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: only a curtain. */}
      <div class="curtain" onClick={() => (isMenuOpen.value = false)} />
      <main id="content" class="page" tabIndex={-1} ref={main}>
        <ConnectionNote />
        <Outlet />
      </main>
      <BottomBar isMenuOpen={isMenuOpen.value} toggle={() => (isMenuOpen.value = !isMenuOpen.value)} />
      {isPaletteOpen.value && <Lazy load={loadPalette} />}
      {isHelpOpen.value && <Lazy load={loadHelp} />}
      <ConfirmHost />
      <ToastHost />
    </div>
  )
}

export function Logo() {
  return (
    <a class="logo" href={href('/')}>
      <svg width="26" height="20" viewBox="0 0 26 20" aria-hidden="true">
        <circle cx="9" cy="10" r="8" />
        <circle cx="17" cy="10" r="8" />
      </svg>
      <span>Duet</span>
    </a>
  )
}

function NavItem({ name }: { readonly name: string }) {
  const route = ROUTES[name]
  if (!route?.nav || (route.isForAdmins && !isAdmin.value)) return null
  const { text, icon, key } = route.nav
  const isHere = place.value.page === name
  return (
    <li>
      <a
        href={href(`/${name}`)}
        aria-current={isHere ? 'page' : undefined}
        title={key ? `g ${key}` : undefined}
        onPointerEnter={() => loadPage(route)}
      >
        <Icon name={icon} size={18} />
        <span>{t().nav[text]}</span>
      </a>
    </li>
  )
}

const BAR = ['', 'keys', 'billing', 'requests']

/** On a phone, where the thumb is. */
function BottomBar({ isMenuOpen, toggle }: { readonly isMenuOpen: boolean; readonly toggle: () => void }) {
  return (
    <nav class="bottom-bar" aria-label={t().layout.quickNavigation}>
      <ul>
        {BAR.map(name => (
          <NavItem key={name} name={name} />
        ))}
        <li>
          <button type="button" aria-expanded={isMenuOpen} onClick={toggle}>
            <Icon name="more" size={18} />
            <span>{t().layout.more}</span>
          </button>
        </li>
      </ul>
    </nav>
  )
}

function SearchButton() {
  return (
    <button type="button" class="search-button" onClick={() => (isPaletteOpen.value = true)}>
      <Icon name="search" />
      <span>{t().layout.search}</span>
      <Keys keys={[MOD, 'K']} />
    </button>
  )
}

function Balance() {
  const own = account.value
  if (!own) return null
  const hint = balanceHint(balanceState(own))
  return (
    <a class={hint ? 'balance empty-balance' : 'balance'} href={href('/billing')}>
      <span class="balance-label">{t().layout.balance}</span>
      <span class="balance-amount">
        <Money amount={own.balance} />
      </span>
      {hint && <span class="balance-hint">{hint}</span>}
    </a>
  )
}

function User() {
  const who = session.value
  if (!who) return null
  return (
    <div class="user">
      <span class="user-name">
        <strong>{who.user?.name ?? t().layout.adminToken}</strong>
        <span>{who.role === 'admin' ? t().common.admin : t().common.member}</span>
      </span>
      <Menu
        label={t().layout.userMenu}
        items={[
          { label: t().nav.settings, icon: 'settings', href: href('/settings') },
          { label: t().help.title, icon: 'info', onSelect: () => (isHelpOpen.value = true) },
          { label: t().layout.signOut, icon: 'signOut', onSelect: signOut },
        ]}
      />
    </div>
  )
}

function Connection() {
  const text = t().connection[connection.value]
  return (
    <span class={`connection ${connection.value}`} title={text}>
      <span class="dot" aria-hidden="true" />
      <span class="hidden-text">{text}</span>
    </span>
  )
}

/** The dot tells it at once; words are for a break that lasts. */
const NOTE_AFTER_MS = 6_000

function ConnectionNote() {
  const isLong = useSignal(false)
  const isLost = connection.value === 'lost'
  useEffect(() => {
    isLong.value = false
    if (!isLost) return
    const timer = setTimeout(() => (isLong.value = true), NOTE_AFTER_MS)
    return () => clearTimeout(timer)
  }, [isLost])
  if (!isLost || !isLong.value) return null
  return (
    <p class="connection-note" role="status">
      {t().connection.lostText}
    </p>
  )
}
