import { useSignal } from '@preact/signals'
import { t } from '../app/language.ts'
import { Button, IconButton } from './button.tsx'

const SHOWN_MS = 1_600

function useCopy(text: string) {
  const isDone = useSignal(false)
  return {
    isDone: isDone.value,
    async copy() {
      await writeClipboard(text)
      isDone.value = true
      setTimeout(() => {
        isDone.value = false
      }, SHOWN_MS)
    },
  }
}

/** The clipboard of the browser exists on secure pages only; Duet is often reached by plain HTTP in a house network. */
async function writeClipboard(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  const host = document.querySelector('dialog:modal') ?? document.body
  host.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

interface CopyProps {
  readonly text: string
  /** What is copied: "Copy key". */
  readonly label?: string
}

export function CopyIcon({ text, label = t().common.copy }: CopyProps) {
  const { isDone, copy } = useCopy(text)
  return <IconButton icon={isDone ? 'check' : 'copy'} label={isDone ? t().common.copied : label} onClick={copy} />
}

export function CopyButton({
  text,
  label = t().common.copy,
  kind = 'secondary',
}: CopyProps & { kind?: 'primary' | 'secondary' }) {
  const { isDone, copy } = useCopy(text)
  return (
    <Button kind={kind} icon={isDone ? 'check' : 'copy'} onClick={copy}>
      {isDone ? t().common.copied : label}
    </Button>
  )
}

/** Something to be copied, in full and in one line: ids, addresses. */
export function CopyText({ text, label }: CopyProps) {
  return (
    <span class="copy-text">
      <code>{text}</code>
      <CopyIcon text={text} {...(label === undefined ? {} : { label })} />
    </span>
  )
}
