import type { ChannelView, Origin } from '../../../src/admin/contract.ts'
import { t } from '../../app/language.ts'
import { Badge, Note } from '../../kit/index.ts'
import { ReloadButton } from './reload.tsx'

/** No real upstream is configured: the sandbox serves everything, until there is one. */
export const isSandboxOnly = (channels: readonly ChannelView[]): boolean =>
  channels.length > 0 && channels.every(({ origin }) => origin === 'sandbox')

/** Who defines it. */
export function OriginBadge({ origin }: { readonly origin: Origin }) {
  const { origins, originMeaning } = t().channels
  return (
    <Badge tone={origin === 'console' ? 'accent' : 'neutral'} title={originMeaning[origin]}>
      {origins[origin]}
    </Badge>
  )
}

interface ReadOnlyNoteProps {
  readonly origin: Origin
  /** The console defines one of the same name, which waits behind this one. */
  readonly isShadowing: boolean
}

/** Says why there is nothing to edit, and where it would be edited. Nothing for what the console may change. */
export function ReadOnlyNote({ origin, isShadowing }: ReadOnlyNoteProps) {
  const { readOnly, shadows } = t().channels
  const words = origin === 'console' || origin === 'builtin' ? undefined : readOnly[origin]
  if (words === undefined) return null
  return (
    <Note title={words.title} action={origin === 'file' && <ReloadButton size="small" />}>
      {words.text} {isShadowing && shadows}
    </Note>
  )
}
