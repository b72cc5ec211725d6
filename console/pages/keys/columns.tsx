import type { KeyView } from '../../../src/admin/contract.ts'
import { compare } from '../../app/decimal.ts'
import { money } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { href, pathTo } from '../../app/router.ts'
import { isAdmin } from '../../app/session.ts'
import { Button, type Column, Menu, Time } from '../../kit/index.ts'
import { type KeyChanges, RAISES, raise, revoke, setEnabled } from './changes.ts'
import { roomOf } from './room.ts'
import { Spend } from './spend.tsx'
import { KeyStatus } from './status.tsx'

const [RAISE] = RAISES

export function keyColumns(changes: KeyChanges, hasAccounts: boolean): readonly Column<KeyView>[] {
  const texts = t().keys
  return [
    {
      id: 'name',
      title: t().common.name,
      cell: key => <Name keyView={key} />,
      compare: (a, b) => a.name.localeCompare(b.name),
    },
    ...(isAdmin.value && hasAccounts ? [accountColumn()] : []),
    { id: 'status', title: t().common.status, cell: key => <KeyStatus keyView={key} /> },
    {
      id: 'spent',
      title: texts.spent,
      cell: key => <SpendCell keyView={key} changes={changes} />,
      compare: (a, b) => compare(a.spent, b.spent),
    },
    { id: 'models', title: texts.models, isMinor: true, cell: key => <Models models={key.models} /> },
    {
      id: 'expires',
      title: t().common.expires,
      isMinor: true,
      cell: key => <Expires at={key.expires_at} />,
    },
    {
      id: 'last-use',
      title: texts.lastUse,
      cell: key => <Time at={key.last_used_at} none={texts.notUsed} />,
      compare: (a, b) => (a.last_used_at ?? '').localeCompare(b.last_used_at ?? ''),
    },
    {
      id: 'actions',
      title: t().common.actions,
      isActions: true,
      cell: key => <Actions keyView={key} changes={changes} />,
    },
  ]
}

const accountColumn = (): Column<KeyView> => ({
  id: 'account',
  title: t().common.account,
  isMinor: true,
  cell: ({ account_name }) => (
    <span class="keys-account truncate" title={account_name}>
      {account_name}
    </span>
  ),
})

function Name({ keyView: { name, hint } }: { readonly keyView: KeyView }) {
  return (
    <span class="keys-name">
      <span class="truncate" title={name}>
        {name}
      </span>
      <code class="faint">{hint}</code>
    </span>
  )
}

interface CellProps {
  readonly keyView: KeyView
  readonly changes: KeyChanges
}

/** A key at its cap, or nearly, is helped where it is seen. */
function SpendCell({ keyView, changes }: CellProps) {
  return (
    <div class="keys-spend-cell">
      <Spend keyView={keyView} />
      {roomOf(keyView) !== 'plenty' && (
        <Button
          size="small"
          title={t().keys.raiseByLong(money(RAISE), keyView.name)}
          onClick={() => raise(keyView, RAISE, changes)}
        >
          {t().keys.raiseBy(money(RAISE))}
        </Button>
      )}
    </div>
  )
}

function Models({ models }: { readonly models: KeyView['models'] }) {
  if (models === null) return <span class="faint keys-default">{t().keys.allModels}</span>
  const [first = ''] = models
  return (
    <span class="keys-models truncate" title={models.join('\n')}>
      {models.length === 1 ? first : t().keys.modelCount(models.length)}
    </span>
  )
}

function Expires({ at }: { readonly at: string | null }) {
  return at === null ? <span class="faint keys-default">{t().common.never}</span> : <Time at={at} />
}

function Actions({ keyView: key, changes }: CellProps) {
  const texts = t().keys
  return (
    <Menu
      label={texts.menu(key.name)}
      items={[
        { label: texts.open, icon: 'edit', href: href(pathTo('keys', key.id)) },
        key.cap !== null && {
          label: t().refusal.raiseCap,
          icon: 'plus',
          href: href(pathTo('keys', key.id), { raise: true }),
        },
        { label: texts.seeRequests, icon: 'requests', href: href('/requests', { key: key.id }) },
        key.enabled
          ? { label: t().common.disable, icon: 'pause', onSelect: () => setEnabled(key, false, changes) }
          : { label: t().common.enable, icon: 'check', onSelect: () => setEnabled(key, true, changes) },
        { label: texts.revoke, icon: 'trash', isDangerous: true, onSelect: () => revoke(key, changes) },
      ]}
    />
  )
}
