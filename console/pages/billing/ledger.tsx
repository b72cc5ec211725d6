import { useEffect } from 'preact/hooks'
import type { AccountView, EntryList, EntryView } from '../../../src/admin/contract.ts'
import { apiHref } from '../../app/api.ts'
import { useEvent } from '../../app/events.ts'
import { dateTime } from '../../app/format.ts'
import { t } from '../../app/language.ts'
import { type Pages, usePages } from '../../app/resource.ts'
import { href, pathTo } from '../../app/router.ts'
import { useThrottled } from '../../app/throttle.ts'
import { Badge, type Column, Empty, LinkButton, Load, Money, Pager, Table, type Tone } from '../../kit/index.ts'
import { Limits } from './limits.tsx'

const REFRESH_MS_MIN = 3_000
/** As money is written everywhere. */
const DECIMALS_MIN = 2

export interface Entries {
  readonly pages: Pages<EntryView, EntryList>
  /** Shows an entry that was just made, before the list is asked again. */
  put(entry: EntryView): void
}

/** Null while they are not shown. */
export function useEntries(account: string | null, onAccount: (account: AccountView) => void): Entries {
  const pages = usePages<EntryView, EntryList>(account && `${pathTo('accounts', account)}/entries`)
  const refresh = useThrottled(pages.refresh, REFRESH_MS_MIN)
  const told = pages.data?.account
  useEffect(() => {
    if (told) onAccount(told)
  }, [told])
  useEvent('usage', ({ accounts }) => {
    // Older pages stay as they are while somebody reads them.
    if (pages.isFirst && accounts.some(({ id }) => id === account)) refresh()
  })
  return {
    pages,
    put(entry) {
      if (!pages.isFirst) return
      pages.mutate(list => ({ ...list, data: [entry, ...list.data.filter(({ id }) => id !== entry.id)] }))
    },
  }
}

interface LedgerProps {
  readonly account: AccountView
  readonly entries: Pages<EntryView, EntryList>
}

export function Ledger({ account, entries }: LedgerProps) {
  const texts = t().billing
  return (
    <>
      <Limits account={account} />
      <div class="billing-part">
        <p>{texts.ledgerText}</p>
        <LinkButton icon="download" download href={apiHref(`${pathTo('accounts', account.id)}/entries.csv`)}>
          {texts.exportCsv}
        </LinkButton>
      </div>
      <Load resource={entries}>
        {({ data }) => (
          <Table
            caption={texts.ledger}
            rows={data}
            columns={columns(data)}
            keyOf={entry => entry.id}
            hrefOf={entry => (entry.kind === 'charge' ? href(pathTo('requests', entry.source)) : '')}
            empty={<Empty icon="billing" title={texts.noEntries} text={texts.noEntriesText} />}
          />
        )}
      </Load>
      <Pager paging={entries.paging} />
    </>
  )
}

function columns(entries: readonly EntryView[]): readonly Column<EntryView>[] {
  const texts = t().billing
  const decimals = Math.max(...entries.flatMap(({ amount, balance }) => [decimalsOf(amount), decimalsOf(balance)]))
  return [
    { id: 'time', title: texts.time, cell: entry => <When at={entry.at} /> },
    { id: 'kind', title: texts.kind, cell: entry => <Kind entry={entry} /> },
    { id: 'details', title: texts.details, cell: entry => <Details entry={entry} /> },
    {
      id: 'amount',
      title: texts.change,
      isNumeric: true,
      cell: entry => <Exact amount={entry.amount} decimals={decimals} isSigned />,
    },
    {
      id: 'balance',
      title: texts.after,
      isNumeric: true,
      cell: entry => <Exact amount={entry.balance} decimals={decimals} />,
    },
  ]
}

const decimalsOf = (amount: string): number => Math.max(amount.split('.')[1]?.length ?? 0, DECIMALS_MIN)

interface ExactProps {
  readonly amount: string
  /** Of the longest in the table. */
  readonly decimals: number
  readonly isSigned?: boolean
}

/** Every digit, so that rows add up before the reader's eyes, and dots in one line whatever follows them. */
function Exact({ amount, decimals, isSigned = false }: ExactProps) {
  const missing = decimals - decimalsOf(amount)
  return (
    <span class="billing-exact" style={{ '--missing': missing }}>
      <Money amount={amount} decimals={decimalsOf(amount)} isSigned={isSigned} />
    </span>
  )
}

/** Exact, because people compare it with other books. */
const When = ({ at }: { readonly at: string }) => <time dateTime={at}>{dateTime(at)}</time>

const CODE_SOURCE = /^code-/
const OPENING_SOURCE = 'opening'
/** Names that were made up say only by whom. */
const MADE_UP_SOURCE = /^(auto|console)-/

const TONES: Readonly<Record<EntryView['kind'], Tone>> = { topup: 'good', charge: 'neutral', adjustment: 'accent' }

function Kind({ entry: { kind, source } }: { readonly entry: EntryView }) {
  const { kinds } = t().billing
  return <Badge tone={TONES[kind]}>{CODE_SOURCE.test(source) ? kinds.code : kinds[kind]}</Badge>
}

function Details({ entry: { kind, source, note } }: { readonly entry: EntryView }) {
  const texts = t().billing
  if (kind === 'charge') {
    return (
      <span class="billing-source" title={source}>
        {texts.request} <code>{source}</code>
      </span>
    )
  }
  if (source === OPENING_SOURCE) return <>{texts.openingBalance}</>
  if (CODE_SOURCE.test(source)) return <code>{/duet-\S+/.exec(note ?? '')?.[0] ?? source}</code>
  return (
    <div class="billing-note">
      {note && <div>{note}</div>}
      <Source source={source} />
    </div>
  )
}

function Source({ source }: { readonly source: string }) {
  const texts = t().billing
  const maker = MADE_UP_SOURCE.exec(source)?.[1]
  if (maker === undefined) return <code>{source}</code>
  return (
    <span class="faint small" title={source}>
      {maker === 'console' ? texts.fromConsole : texts.fromApi}
    </span>
  )
}
