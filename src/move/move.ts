import { type Verification, verify } from '../ledger/verify.ts'
import type { MoveSource } from './source.ts'
import { MOVED_TABLES, type TableCount } from './tables.ts'
import { intoTarget, MoveRefused, type MoveTarget } from './target.ts'

/** How far a move is, for who waits for it. */
export interface MoveProgress {
  readonly step: 'checked' | 'moved' | 'checked again'
  readonly done: number
  readonly total: number
}

export interface MoveOptions {
  readonly url: string
  readonly report: (progress: MoveProgress) => void
  /** Called when all is in the target and agrees with the source, just before anybody else can see it. */
  readonly beforeCommit: () => void
}

export interface Moved {
  readonly tables: readonly TableCount[]
  readonly ledger: Verification
}

/** Carries everything over, and lets it be seen only when the books are the same on both sides. */
export async function move(source: MoveSource, { url, report, beforeCommit }: MoveOptions): Promise<Moved> {
  const ledger = await verify(source.audit, {
    report: ({ checked, total }) => report({ step: 'checked', done: checked, total }),
  })
  if (ledger.problem) return { tables: [], ledger }
  return intoTarget(url, async target => {
    await target.lock()
    await refuseFilled(target)
    const range = source.range()
    if (range) await target.makeMonths(range)
    const tables = await copyAll(source, target, report)
    await target.complete()
    const there = await verify(target.audit, {
      report: ({ checked, total }) => report({ step: 'checked again', done: checked, total }),
    })
    const difference = differenceOf(ledger, there)
    if (difference !== undefined) throw new MoveRefused(`what was moved is not what was there: ${difference}`)
    beforeCommit()
    return { tables, ledger: there }
  })
}

/** What a target has that is empty otherwise: nothing, or the names of tables. */
export const filledTables = (url: string): Promise<readonly string[]> => intoTarget(url, target => target.filled())

async function refuseFilled(target: MoveTarget): Promise<void> {
  const filled = await target.filled()
  if (filled.length > 0) throw new MoveRefused(`the database is not empty: there are rows in ${filled.join(', ')}`)
}

async function copyAll(
  source: MoveSource,
  target: MoveTarget,
  report: MoveOptions['report'],
): Promise<readonly TableCount[]> {
  const counts = source.counts()
  const total = counts.reduce((sum, { rows }) => sum + rows, 0)
  let done = 0
  const counted = function* (table: TableCount['table']) {
    for (const slice of source.slices(table)) {
      yield slice
      done += slice.rows
      report({ step: 'moved', done, total })
    }
  }
  const tables: TableCount[] = []
  for (const table of MOVED_TABLES) {
    const rows = await target.copy(table, source.columns(table), counted(table))
    const expected = counts.find(count => count.table === table)?.rows
    if (rows !== expected) throw new MoveRefused(`of ${expected} rows in ${table}, ${rows} were stored`)
    tables.push({ table, rows })
  }
  return tables
}

/** In words; undefined where both say the same. */
function differenceOf(source: Verification, target: Verification): string | undefined {
  const { problem } = target
  if (problem) return `${problem.table} ${problem.row}: ${problem.problem}`
  const facts = ({ accounts, entries, charges, unpriced, usage, openHolds, balance }: Verification) => ({
    ...{ accounts, entries, charges, unpriced, usage, openHolds, balance },
  })
  const [here, there] = [Object.entries(facts(source)), Object.values(facts(target))]
  const [wrong] = here.find(([, value], place) => value !== there[place]) ?? []
  if (wrong !== undefined) return `the number of ${wrong} differs`
  const account = [...source.heads].find(([id, head]) => target.heads.get(id) !== head)
  return account && `the last hash of account ${account[0]} differs`
}
