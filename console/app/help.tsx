import { Dialog } from '../kit/dialog.tsx'
import { Keys } from '../kit/value.tsx'
import { MOD } from './keys.ts'
import { t } from './language.ts'
import { isHelpOpen } from './overlays.ts'
import { ROUTES } from './routes.ts'
import { isAdmin } from './session.ts'

type Row = readonly [readonly string[], string]

/** Every shortcut there is. */
export function ShortcutList() {
  const texts = t().help
  const anywhere: readonly Row[] = [
    [[MOD, 'K'], texts.palette],
    [['/'], texts.filter],
    [['?'], texts.title],
    [['Esc'], texts.close],
  ]
  const lists: readonly Row[] = [
    [['j'], texts.next],
    [['k'], texts.previous],
    [['o'], texts.open],
  ]
  const pages: readonly Row[] = Object.values(ROUTES).flatMap(({ nav, isForAdmins }) =>
    nav?.key === undefined || (isForAdmins && !isAdmin.value) ? [] : [[['g', nav.key], t().nav[nav.text]] as const],
  )
  return (
    <div class="shortcuts">
      <Group title={texts.anywhere} rows={anywhere} />
      <Group title={texts.lists} rows={lists} />
      <Group title={texts.goTo} rows={pages} />
    </div>
  )
}

function Group({ title, rows }: { readonly title: string; readonly rows: readonly Row[] }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        {rows.map(([keys, text]) => (
          <div key={text}>
            <dt>{text}</dt>
            <dd>
              <Keys keys={keys} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

export function Help() {
  return (
    <Dialog title={t().help.title} look="large" onClose={() => (isHelpOpen.value = false)}>
      <ShortcutList />
    </Dialog>
  )
}
