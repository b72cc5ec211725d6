import type { ButtonHTMLAttributes, ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'

interface Looks {
  readonly kind?: 'primary' | 'secondary' | 'quiet' | 'danger'
  readonly size?: 'small' | 'medium'
  readonly icon?: IconName
  readonly children?: ComponentChildren
}

interface ButtonProps extends Looks {
  /** While it works it keeps its place and cannot be pressed again. */
  readonly isBusy?: boolean
  readonly isDisabled?: boolean
  readonly type?: 'button' | 'submit'
  readonly title?: string
  readonly form?: string
  readonly onClick?: () => void
}

const classOf = ({ kind = 'secondary', size = 'medium' }: Looks) => `button ${kind} ${size}`

export function Button({ isBusy = false, isDisabled = false, type = 'button', onClick, ...looks }: ButtonProps) {
  return (
    <button
      type={type}
      class={classOf(looks)}
      disabled={isDisabled}
      aria-busy={isBusy ? 'true' : undefined}
      title={looks.title}
      form={looks.form}
      onClick={event => {
        if (isBusy) event.preventDefault()
        else onClick?.()
      }}
    >
      {isBusy ? <span class="spinner" aria-hidden="true" /> : looks.icon && <Icon name={looks.icon} />}
      {looks.children !== undefined && <span>{looks.children}</span>}
    </button>
  )
}

/** A link that looks like a button: for going somewhere. */
export function LinkButton({
  href,
  download,
  ...looks
}: Looks & {
  readonly href: string
  /** A name for the file, or true where the server gives it one. */
  readonly download?: boolean | string
}) {
  return (
    <a class={classOf(looks)} href={href} download={download === true ? '' : download || undefined}>
      {looks.icon && <Icon name={looks.icon} />}
      <span>{looks.children}</span>
    </a>
  )
}

interface IconButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'label' | 'icon' | 'size'> {
  readonly icon: IconName
  /** Read out, and shown to those who point at it. */
  readonly label: string
}

export function IconButton({ icon, label, ...attributes }: IconButtonProps) {
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} {...attributes}>
      <Icon name={icon} size={18} />
    </button>
  )
}
