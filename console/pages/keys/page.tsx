import { useSignal } from '@preact/signals'
import type { KeyView, NewKeyView } from '../../../src/admin/contract.ts'
import { balanceState } from '../../app/balance.ts'
import { useEvent } from '../../app/events.ts'
import { money } from '../../app/format.ts'
import { useShortcuts } from '../../app/keys.ts'
import { t } from '../../app/language.ts'
import { closeTo, usePages } from '../../app/resource.ts'
import { go, href, pathTo, query } from '../../app/router.ts'
import type { PageProps } from '../../app/routes.ts'
import { account, isAdmin } from '../../app/session.ts'
import {
  AccountSelect,
  Empty,
  FilterBar,
  LinkButton,
  Load,
  PageHeader,
  Pager,
  QuerySearch,
  QuerySelect,
  RefusalHelp,
  Table,
} from '../../kit/index.ts'
import type { KeyChanges } from './changes.ts'
import { keyColumns } from './columns.tsx'
import { CreateKey } from './create.tsx'
import { KeyDetail } from './detail.tsx'
import { useThrottled } from './refresh.ts'
import { Reveal } from './reveal.tsx'
import { leftOf, noteCalls, roomOf } from './room.ts'
import { hasStatus, STATUSES } from './status.tsx'

const ROWS = 100
const REFRESH_MS = 3_000

export function Page({ rest: [id] }: PageProps) {
  const list = usePages<KeyView>('/keys', { account: isAdmin.value ? query.value.get('account') : null, limit: ROWS })
  const made = useSignal<NewKeyView | null>(null)
  const refresh = useThrottled(list.reload, REFRESH_MS)
  useEvent('usage', ({ rows }) => {
    noteCalls(rows)
    if (rows.some(row => list.rows?.some(key => key.id === row.key))) refresh()
  })
  useShortcuts({ n: () => go('/keys/new') })

  const setRows = (change: (rows: readonly KeyView[]) => readonly KeyView[]) =>
    list.mutate(page => ({ ...page, data: change(page.data) }))
  const changes: KeyChanges = {
    changed: changed => setRows(rows => rows.map(row => (row.id === changed.id ? changed : row))),
    revoked: ({ id: gone }) => {
      setRows(rows => rows.filter(row => row.id !== gone))
      if (gone === id) closeTo('/keys')
    },
  }
  const add = ({ key: _secret, ...key }: NewKeyView) => setRows(rows => [key, ...rows])

  return (
    <>
      <PageHeader
        title={t().nav.keys}
        text={t().keys.intro}
        actions={
          <LinkButton kind="primary" icon="plus" href={href('/keys/new')}>
            {t().keys.create}
          </LinkButton>
        }
      />
      <Filters />
      <Load resource={list}>
        {({ data, next }) => (
          <div class="keys-list">
            <MoneyNotes rows={data} />
            <KeyTable rows={data} hasMore={next !== null || !list.isFirst} changes={changes} currentKey={id} />
          </div>
        )}
      </Load>
      <Pager paging={list.paging} />
      {id === 'new' && (
        <CreateKey
          onClose={() => closeTo('/keys')}
          onMade={key => {
            made.value = key
            add(key)
            // Reloading must not ask to create it once more.
            go('/keys', { replace: true })
          }}
        />
      )}
      {id !== undefined && id !== 'new' && <KeyDetail key={id} id={id} list={list} changes={changes} />}
      {made.value && (
        <Reveal
          made={made.value}
          changes={changes}
          onSaved={() => {
            const link = href(pathTo('keys', made.value?.id ?? ''))
            made.value = null
            // The button that opened it is long gone.
            requestAnimationFrame(() => document.querySelector<HTMLElement>(`a[href^="${link}"]`)?.focus())
          }}
        />
      )}
    </>
  )
}

function Filters() {
  const texts = t().keys
  return (
    <FilterBar names={['q', 'status', 'account']}>
      <QuerySearch name="q" label={texts.search} />
      <QuerySelect
        name="status"
        label={t().common.status}
        all={texts.allStatuses}
        options={STATUSES.map(status => ({ value: status, label: texts.status[status] }))}
      />
      <AccountSelect />
    </FilterBar>
  )
}

/** What keeps keys from working is said before anyone wonders: the balance for all of them, a cap for one. */
function MoneyNotes({ rows }: { readonly rows: readonly KeyView[] }) {
  const capped = rows.filter(({ status }) => status === 'cap-reached')
  const low = rows.filter(row => row.status === 'active' && roomOf(row) === 'little')
  return (
    <div class="keys-notes">
      <BalanceNote rows={rows} />
      {capped.length > 0 && <RefusalHelp refusal="cap" name={namesOf(capped)} {...onlyOne(capped)} />}
      {low.length > 0 && (
        <RefusalHelp refusal="cap" name={namesOf(low)} title={t().keys.lowCapTitle} {...onlyOne(low)}>
          {low.length === 1 && low.map(key => t().keys.lowCapText(money(leftOf(key))))}
        </RefusalHelp>
      )}
    </div>
  )
}

function BalanceNote({ rows }: { readonly rows: readonly KeyView[] }) {
  const own = account.value
  if (own === null || !rows.some(row => row.account === own.id)) return null
  const state = balanceState(own)
  if (state === 'enough') return null
  return (
    <RefusalHelp refusal="balance" account={own.id}>
      {state === 'low' ? t().keys.lowBalanceText(money(own.balance)) : undefined}
    </RefusalHelp>
  )
}

/** More names than these nobody reads in a title. */
const NAMES_MAX = 3

const namesOf = (keys: readonly KeyView[]): string =>
  keys
    .slice(0, NAMES_MAX)
    .map(({ name }) => name)
    .join(', ') + (keys.length > NAMES_MAX ? ` +${keys.length - NAMES_MAX}` : '')

const onlyOne = ([first, ...others]: readonly KeyView[]) => (first && others.length === 0 ? { keyId: first.id } : {})

interface KeyTableProps {
  readonly rows: readonly KeyView[]
  /** More keys than these: what is not found here may be on another page. */
  readonly hasMore: boolean
  readonly changes: KeyChanges
  readonly currentKey: string | undefined
}

function KeyTable({ rows, hasMore, changes, currentKey }: KeyTableProps) {
  const texts = t().keys
  const filters = Object.fromEntries(query.value)
  // The order of pages is that of ids, which says nothing to people.
  const newestFirst = rows.toSorted((a, b) => b.created_at.localeCompare(a.created_at))
  const found = newestFirst.filter(matching(filters.q ?? '', filters.status ?? ''))
  const hasAccounts = new Set(rows.map(({ account: id }) => id)).size > 1
  return (
    <Table
      caption={t().nav.keys}
      rows={found}
      columns={keyColumns(changes, hasAccounts)}
      keyOf={key => key.id}
      hrefOf={key => href(pathTo('keys', key.id), filters)}
      currentKey={currentKey}
      isFaint={({ status }) => status === 'disabled' || status === 'expired'}
      empty={
        rows.length === 0 ? (
          <Empty
            icon="keys"
            title={texts.emptyTitle}
            text={texts.emptyText}
            action={
              <LinkButton kind="primary" icon="plus" href={href('/keys/new')}>
                {texts.create}
              </LinkButton>
            }
          />
        ) : (
          <Empty
            icon="search"
            title={texts.noMatchTitle}
            text={hasMore ? texts.noMatchOnPageText : texts.noMatchText}
          />
        )
      }
    />
  )
}

function matching(text: string, status: string): (key: KeyView) => boolean {
  const wanted = text.toLowerCase()
  return key =>
    (status === '' || hasStatus(key, status)) &&
    `${key.name} ${key.hint} ${key.account_name}`.toLowerCase().includes(wanted)
}
