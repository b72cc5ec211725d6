import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { useShortcuts } from '../app/keys.ts'
import { t } from '../app/language.ts'
import { Icon } from './icon.tsx'

export interface Column<T> {
  readonly id: string
  readonly title: string
  readonly cell: (row: T) => ComponentChildren
  /** Numbers and money stand at the end, in figures of one width. */
  readonly isNumeric?: boolean
  /** Gives way first where there is little room; still shown on a phone's cards. */
  readonly isMinor?: boolean
  /** Makes the title a button that sorts what is loaded. */
  readonly compare?: (a: T, b: T) => number
  /** Buttons and menus: no title is drawn. */
  readonly isActions?: boolean
}

interface TableProps<T> {
  /** Read out before the table; not drawn. */
  readonly caption: string
  readonly rows: readonly T[]
  readonly columns: readonly Column<T>[]
  readonly keyOf: (row: T) => string
  /** Where a row leads. The first column becomes the link; the rest of the row can be clicked too. */
  readonly hrefOf?: (row: T) => string
  /** The row that is open beside the list. */
  readonly currentKey?: string | undefined
  /** Rows that are crossed out or asleep. */
  readonly isFaint?: (row: T) => boolean
  /** On a phone: cards, or the same table that can be pushed sideways. */
  readonly narrow?: 'cards' | 'scroll'
  readonly empty?: ComponentChildren
  /** A row of sums at the end: cells by the ids of columns. */
  readonly footer?: Readonly<Record<string, ComponentChildren>>
}

interface Sorting {
  readonly column: string
  readonly isDown: boolean
}

/** A real table. `j` and `k` walk through rows that lead somewhere, `o` or Enter opens one. */
export function Table<T>(props: TableProps<T>) {
  const { caption, rows, columns, keyOf, hrefOf, empty, footer, narrow = 'cards' } = props
  const sorting = useSignal<Sorting | null>(null)
  const body = useRef<HTMLTableSectionElement>(null)
  useRowKeys(body, hrefOf !== undefined)
  if (rows.length === 0 && empty !== undefined) return <div class="card">{empty}</div>
  return (
    <div class={`table-frame card ${narrow}`}>
      {/* Roles are said, because a table that is laid out as cards would lose them. */}
      <table role="table">
        <caption class="hidden-text">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(column => (
              <Heading key={column.id} column={column} sorting={sorting.value} sort={next => (sorting.value = next)} />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup" ref={body}>
          {sorted(rows, columns, sorting.value).map(row => (
            <Row key={keyOf(row)} row={row} {...props} />
          ))}
        </tbody>
        {footer && (
          <tfoot>
            <tr>
              {columns.map(column => (
                <td key={column.id} class={classOf(column)} data-label={column.title}>
                  {footer[column.id]}
                </td>
              ))}
            </tr>
          </tfoot>
        )}
      </table>
    </div>
  )
}

function Row<T>({ row, columns, keyOf, hrefOf, currentKey, isFaint }: TableProps<T> & { readonly row: T }) {
  const link = hrefOf?.(row)
  const isCurrent = currentKey !== undefined && keyOf(row) === currentKey
  const classes = [link && 'is-link', isCurrent && 'is-current', isFaint?.(row) && 'is-faint'].filter(Boolean).join(' ')
  return (
    <tr
      role="row"
      class={classes}
      aria-current={isCurrent ? 'true' : undefined}
      onClick={event => {
        const target = event.target as Element
        // A click on what has a meaning of its own is not one on the row; neither is marking text.
        if (!link || target.closest('a, button, input, select, [popover]') || getSelection()?.toString()) return
        const anchor = event.currentTarget.querySelector<HTMLAnchorElement>('[data-row-link]')
        if (event.metaKey || event.ctrlKey) open(link, '_blank', 'noopener')
        else anchor?.click()
      }}
    >
      {columns.map((column, index) => (
        <td
          key={column.id}
          role="cell"
          class={classOf(column)}
          data-column={column.id}
          data-label={column.isActions ? undefined : column.title}
        >
          {index === 0 && link ? (
            <a href={link} data-row-link="" class="row-link">
              {column.cell(row)}
            </a>
          ) : (
            column.cell(row)
          )}
        </td>
      ))}
    </tr>
  )
}

interface HeadingProps<T> {
  readonly column: Column<T>
  readonly sorting: Sorting | null
  readonly sort: (next: Sorting) => void
}

function Heading<T>({ column, sorting, sort }: HeadingProps<T>) {
  const isDown = sorting?.column === column.id ? sorting.isDown : undefined
  const direction = isDown === undefined ? 'none' : isDown ? 'descending' : 'ascending'
  return (
    <th
      role="columnheader"
      scope="col"
      class={classOf(column)}
      data-column={column.id}
      aria-sort={column.compare && direction !== 'none' ? direction : undefined}
    >
      {column.isActions ? (
        <span class="hidden-text">{t().common.actions}</span>
      ) : column.compare ? (
        <button type="button" class={`sort ${direction}`} onClick={() => sort({ column: column.id, isDown: !isDown })}>
          {column.title}
          <Icon name="down" size={12} />
        </button>
      ) : (
        column.title
      )}
    </th>
  )
}

function classOf<T>({ isNumeric, isMinor, isActions }: Column<T>): string | undefined {
  return [isNumeric && 'numeric', isMinor && 'minor', isActions && 'actions'].filter(Boolean).join(' ') || undefined
}

function sorted<T>(rows: readonly T[], columns: readonly Column<T>[], sorting: Sorting | null): readonly T[] {
  const compare = columns.find(({ id }) => id === sorting?.column)?.compare
  return compare ? rows.toSorted((a, b) => (sorting?.isDown ? compare(b, a) : compare(a, b))) : rows
}

/** The focus itself walks, so that Enter and a screen reader know where we are. */
function useRowKeys(body: { readonly current: HTMLElement | null }, isActive: boolean): void {
  const links = () => [...(body.current?.querySelectorAll<HTMLElement>('[data-row-link]') ?? [])]
  const step = (by: number) => {
    const all = links()
    const current = all.findIndex(link => link === document.activeElement || link.closest('tr.is-current'))
    const focused = all.indexOf(document.activeElement as HTMLElement)
    const at = focused === -1 ? current : focused
    all[Math.min(Math.max(at + by, 0), all.length - 1)]?.focus()
  }
  const open = () =>
    links()
      .find(link => link === document.activeElement)
      ?.click()
  useShortcuts(isActive ? { j: () => step(1), k: () => step(-1), o: open } : {})
}
