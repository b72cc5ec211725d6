import { useId, useRef } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'

export interface MenuItem {
  readonly label: string
  readonly icon?: IconName
  readonly isDangerous?: boolean
  readonly isDisabled?: boolean
  /** Why it cannot be chosen, or what it does. */
  readonly title?: string
  readonly href?: string
  readonly onSelect?: () => void
}

interface MenuProps {
  /** Read out for a menu that is only an icon. */
  readonly label: string
  /** Shown on the button; without it the button is three dots. */
  readonly text?: string
  readonly icon?: IconName
  /** Falsy items are left out, so that conditions can stand in the list. */
  readonly items: readonly (MenuItem | false | null | undefined)[]
}

const GAP_PX = 4
const EDGE_PX = 8

export function Menu({ label, text, icon = 'more', items }: MenuProps) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const menu = useRef<HTMLDivElement>(null)
  const shown = items.filter(item => !!item)

  const entries = () => [...(menu.current?.querySelectorAll<HTMLElement>('[role=menuitem]:not(:disabled)') ?? [])]
  const step = (by: number) => {
    const all = entries()
    const at = all.indexOf(document.activeElement as HTMLElement)
    all.at((at + by + all.length) % all.length)?.focus()
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        class={text === undefined ? 'icon-button' : 'button secondary medium'}
        aria-label={text === undefined ? label : undefined}
        title={text === undefined ? label : undefined}
        aria-haspopup="menu"
        popovertarget={id}
      >
        <Icon name={icon} size={text === undefined ? 18 : 16} />
        {text !== undefined && <span>{text}</span>}
      </button>
      <div
        ref={menu}
        id={id}
        class="menu"
        popover="auto"
        role="menu"
        aria-label={label}
        tabIndex={-1}
        onToggle={event => {
          if (event.newState !== 'open') return
          placeBeside(menu.current, button.current)
          entries()[0]?.focus()
        }}
        onKeyDown={event => {
          if (event.key === 'ArrowDown') step(1)
          else if (event.key === 'ArrowUp') step(-1)
          else return
          event.preventDefault()
        }}
      >
        {shown.map(item => (
          <Entry key={item.label} item={item} close={() => menu.current?.hidePopover()} />
        ))}
      </div>
    </>
  )
}

function Entry({ item, close }: { readonly item: MenuItem; readonly close: () => void }) {
  const content = (
    <>
      {item.icon && <Icon name={item.icon} />}
      <span>{item.label}</span>
    </>
  )
  const classes = item.isDangerous ? 'menu-item danger' : 'menu-item'
  if (item.href !== undefined) {
    return (
      <a role="menuitem" class={classes} href={item.href} title={item.title} onClick={close}>
        {content}
      </a>
    )
  }
  const choose = () => {
    close()
    item.onSelect?.()
  }
  return (
    <button
      type="button"
      role="menuitem"
      class={classes}
      title={item.title}
      disabled={item.isDisabled}
      onClick={choose}
    >
      {content}
    </button>
  )
}

/** Under the button, or above it where there is no room; never outside the window. */
function placeBeside(menu: HTMLElement | null, button: HTMLElement | null): void {
  if (!menu || !button) return
  const place = button.getBoundingClientRect()
  const { offsetWidth: width, offsetHeight: height } = menu
  const fits = place.bottom + GAP_PX + height < innerHeight
  const isRightToLeft = getComputedStyle(button).direction === 'rtl'
  const left = isRightToLeft ? place.left : place.right - width
  menu.style.top = `${fits ? place.bottom + GAP_PX : Math.max(EDGE_PX, place.top - height - GAP_PX)}px`
  menu.style.left = `${Math.min(Math.max(EDGE_PX, left), innerWidth - width - EDGE_PX)}px`
}
