import { useSignal } from '@preact/signals'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import type { KeyView, List, ModelView } from '../../src/admin/contract.ts'
import { Icon, type IconName } from '../kit/icon.tsx'
import { pathTo } from './address.ts'
import { t } from './language.ts'
import { isPaletteOpen } from './overlays.ts'
import { useResource } from './resource.ts'
import { go } from './router.ts'
import { ROUTES } from './routes.ts'
import { isAdmin, signOut } from './session.ts'
import { chooseTheme, THEMES } from './theme.ts'

interface Entry {
  readonly id: string
  readonly icon: IconName
  readonly label: string
  readonly hint?: string
  readonly run: () => void
}

/** Ids of requests are letters only, and long; nothing else that has a name looks like that. */
const REQUEST_ID = /^[a-z]{20,}$/
/** Every page and action, where nothing is typed. */
const SHOWN_MAX = 24

/** Jumps to whatever is named. Opened by ⌘K or Ctrl-K from anywhere. */
export function Palette() {
  const typed = useSignal('')
  const chosen = useSignal(0)
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const found = useFound(typed.value.trim())
  const at = Math.min(chosen.value, found.length - 1)

  // Before the next key arrives: what is typed right after the shortcut belongs here.
  useLayoutEffect(() => {
    dialog.current?.showModal()
    return () => dialog.current?.close()
  }, [])
  useLayoutEffect(() => {
    dialog.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [at])
  const close = () => {
    isPaletteOpen.value = false
  }
  const run = (entry: Entry | undefined) => {
    if (!entry) return
    close()
    entry.run()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') chosen.value = (at + 1) % Math.max(found.length, 1)
    else if (event.key === 'ArrowUp') chosen.value = (at - 1 + found.length) % Math.max(found.length, 1)
    else if (event.key === 'Enter') run(found[at])
    else return
    event.preventDefault()
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the browser closes it by Escape; the click is for those who point.
    <dialog
      ref={dialog}
      class="palette"
      aria-label={t().palette.title}
      // The browser tells of the end of one that is gone already a little later, when the next may be open.
      onClose={event => event.currentTarget.isConnected && close()}
      onClick={event => event.target === event.currentTarget && close()}
    >
      <div class="palette-field">
        <Icon name="search" size={18} />
        <input
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={found[at] ? `${id}-${at}` : undefined}
          aria-label={t().palette.title}
          placeholder={t().palette.placeholder}
          autoComplete="off"
          spellcheck={false}
          autofocus
          value={typed}
          onInput={event => {
            typed.value = event.currentTarget.value
            chosen.value = 0
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div class="palette-list" role="listbox" id={`${id}-list`} aria-label={t().palette.results}>
        {found.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keyboard.
          // biome-ignore lint/a11y/useFocusableInteractive: the field above has the focus and names the active one.
          <div
            key={entry.id}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => run(entry)}
            onMouseMove={() => (chosen.value = index)}
          >
            <Icon name={entry.icon} />
            <span>{entry.label}</span>
            {entry.hint && <span class="palette-hint">{entry.hint}</span>}
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="palette-nothing">{t().palette.nothing}</p>}
    </dialog>
  )
}

function useFound(typed: string): readonly Entry[] {
  const keys = useResource<List<KeyView>>('/keys')
  const models = useResource<List<ModelView>>('/models')
  const texts = t().palette
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const matches = ({ label, hint = '' }: Entry) => words.every(word => `${label} ${hint}`.toLowerCase().includes(word))

  const request: readonly Entry[] = REQUEST_ID.test(typed)
    ? [
        {
          id: 'request',
          icon: 'requests',
          label: texts.openRequest,
          hint: typed,
          run: () => go(pathTo('requests', typed)),
        },
      ]
    : []
  const pages: readonly Entry[] = Object.entries(ROUTES).flatMap(([name, { nav, isForAdmins }]) =>
    !nav || (isForAdmins && !isAdmin.value)
      ? []
      : [{ id: `page ${name}`, icon: nav.icon, label: t().nav[nav.text], hint: texts.page, run: () => go(`/${name}`) }],
  )
  const action = (id: string, icon: IconName, label: string, run: () => void): Entry => ({
    ...{ id, icon, label, run },
    hint: texts.action,
  })
  const steps: readonly Entry[] = [
    action('create key', 'plus', texts.createKey, () => go('/keys/new')),
    ...(isAdmin.value
      ? [
          action('top up', 'plus', texts.topUp, () => go('/billing?topup=true')),
          action('add channel', 'plus', texts.addChannel, () => go('/channels/new')),
          action('invite', 'plus', texts.invite, () => go('/people?invite=true')),
        ]
      : []),
    action('redeem', 'gift', texts.redeem, () => go('/billing?redeem=true')),
  ]
  const choices: readonly Entry[] = [
    ...THEMES.map(name =>
      action(`theme ${name}`, name === 'dark' ? 'moon' : 'sun', texts.themes[name], () => chooseTheme(name)),
    ),
    action('sign out', 'signOut', t().layout.signOut, signOut),
  ]
  const things: readonly Entry[] =
    words.length === 0
      ? []
      : [
          ...(keys.data?.data ?? []).map(
            ({ id, name, hint }): Entry => ({
              id: `key ${id}`,
              icon: 'keys',
              label: name,
              hint,
              run: () => go(pathTo('keys', id)),
            }),
          ),
          ...(models.data?.data ?? []).map(
            ({ id, name }): Entry => ({
              id: `model ${id}`,
              icon: 'models',
              label: id,
              hint: name,
              run: () => go(pathTo('models', id)),
            }),
          ),
        ]
  return [...request, ...[...steps, ...pages, ...things, ...choices].filter(matches)].slice(0, SHOWN_MAX)
}
