import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { VerifyView } from '../admin/contract.ts'
import { viewVerification } from '../admin/verify.ts'
import { filledTables, type Moved, type MoveProgress, move as moveAll } from '../move/move.ts'
import { MoveSource } from '../move/source.ts'
import type { TableCount } from '../move/tables.ts'
import { MoveRefused } from '../move/target.ts'
import { databasePath } from '../open-store.ts'
import { markMoved, movedPath, movedText, readMoved, unmarkMoved } from '../setup/moved.ts'
import { postgresSchema } from '../store/postgres/schema.ts'
import type { Context, Given, Run } from './command.ts'
import { askingDatabase, databaseUrlIn, placeOf } from './database.ts'
import { asCommandError, failure, notFound, unhealthy, wrongUsage } from './failure.ts'
import { checkSecret, type SecretPlace, secretText } from './move-secret.ts'
import type { Paint } from './paint.ts'
import { dataFolder } from './server.ts'
import { type Column, count, indent, pairs, table, usd } from './table.ts'

/** From where to where. */
interface Way {
  readonly folder: string
  readonly path: string
  readonly url: string
  /** What can be shown of the address. */
  readonly place: string
}

/** Carries an embedded installation over to PostgreSQL. */
export const move: Run = async (given, context) => {
  const way = readWay(given, context)
  const source = open(way.path)
  try {
    const secret = checkSecret(way.folder, source.sealed(), context.env)
    await askingDatabase(way.place, () =>
      given.has('dry-run') ? tryOut(way, source, context) : moveForGood(way, source, { context, secret }),
    )
  } catch (error) {
    throw error instanceof MoveRefused ? failure(`${way.place}: ${error.message}; nothing was moved`) : error
  } finally {
    source.close()
  }
}

function readWay(given: Given, { env, out }: Context): Way {
  const folder = given.maybe('from') ?? dataFolder(env)
  const to = given.maybe('to')
  const url = databaseUrlIn(to === undefined ? env : { DUET_DATABASE_URL: to })
  if (url === undefined) throw wrongUsage('where to? DUET_DATABASE_URL is not set, and --to is missing')
  const path = databasePath(folder)
  if (!existsSync(path)) throw notFound(`there is no database at ${path}`)
  if (to !== undefined && hasPassword(to)) out.note(PASSWORD_SEEN)
  return { folder, path, url, place: placeOf(url) }
}

const PASSWORD_SEEN =
  'others on this machine can see the password in --to: put the address into DUET_DATABASE_URL, and change the password'

const hasPassword = (url: string): boolean => {
  const { password, searchParams } = new URL(url)
  return password !== '' || searchParams.has('password')
}

function open(path: string): MoveSource {
  try {
    return new MoveSource(path)
  } catch (error) {
    const { message } = asCommandError(error)
    if (message.includes('database is locked')) throw failure(`a Duet is using ${path}; stop it before it is moved`)
    throw failure(`cannot open ${path}: ${message}`)
  }
}

/** What there is to move, and whether it could be. */
async function tryOut(way: Way, source: MoveSource, { out }: Context): Promise<void> {
  const schema = postgresSchema(way.url, { waiting: () => {} })
  try {
    const isNew = (await schema.pending()).length === schema.newest
    if (!isNew) await refuseFilled(way)
  } finally {
    await schema.close()
  }
  const tables = source.counts()
  out.result({
    json: { from: way.folder, to: way.place, tables, open_holds: source.openHolds },
    text: paint => `${tablesText(tables, paint)}\n${count(sumOf(tables), 'row')} would be moved to ${way.place}`,
  })
}

interface Means {
  readonly context: Context
  readonly secret: SecretPlace
}

async function moveForGood(way: Way, source: MoveSource, { context, secret }: Means): Promise<void> {
  const { out, clock } = context
  await migrateTarget(way, context)
  await refuseFilled(way)
  const interrupted = await source.recover(clock)
  const began = performance.now()
  const moved = await markingMoved(way, context, beforeCommit =>
    moveAll(source, { url: way.url, beforeCommit, report: progress => out.progress(progressText(progress)) }),
  )
  out.progress('')
  const ledger = viewVerification(moved.ledger)
  if (ledger.problem) {
    const { table, row, problem } = ledger.problem
    throw unhealthy(`the ledger of ${way.folder} does not add up, and was not moved: ${table} ${row}: ${problem}`)
  }
  const seconds = (performance.now() - began) / 1_000
  report({ way, moved, ledger, interrupted, seconds, secret }, out)
}

async function migrateTarget({ url, place }: Way, { out }: Context): Promise<void> {
  const waiting = () => out.note(`another Duet is changing the schema of ${place}: waiting for it`)
  const schema = postgresSchema(url, { waiting })
  try {
    await schema.apply()
  } finally {
    await schema.close()
  }
}

/** A mark without a target belongs to a move that was ended at its last moment: that one never happened. */
async function refuseFilled({ folder, place, url }: Way): Promise<void> {
  const mark = readMoved(folder)
  const filled = await filledTables(url)
  if (mark && (filled.length > 0 || mark.to !== place)) throw failure(movedText(folder, mark))
  if (filled.length > 0) {
    const advice = 'a move needs a database that no Duet has been started on'
    throw failure(`${place} is not empty, there are rows in ${filled.join(', ')}; ${advice}`)
  }
}

/**
 * The folder is marked just before the target can be seen, so that at no moment both could be started. Where the last word
 * to the target was lost, the target is asked what became of it.
 */
async function markingMoved(
  { folder, place, url }: Way,
  { clock }: Context,
  work: (beforeCommit: () => void) => Promise<Moved>,
): Promise<Moved> {
  let isMarked = false
  try {
    return await work(() => {
      markMoved(folder, { to: place, at: new Date(clock()).toISOString() })
      isMarked = true
    })
  } catch (error) {
    if (!isMarked) throw error
    const filled = await filledTables(url).catch(() => undefined)
    if (filled?.length === 0) {
      unmarkMoved(folder)
      throw error
    }
    throw failure(
      `the connection to ${place} was lost at the last moment, and nobody knows whether everything is there; ` +
        'run the same command again: it says so',
    )
  }
}

const PROGRESS: Readonly<Record<MoveProgress['step'], string>> = {
  checked: 'checked the source:',
  moved: 'moved',
  'checked again': 'checked the target:',
}

const progressText = ({ step, done, total }: MoveProgress): string => `${PROGRESS[step]} ${done} of ${total} rows`

interface Report {
  readonly way: Way
  readonly moved: Moved
  readonly ledger: VerifyView
  readonly interrupted: number
  readonly seconds: number
  readonly secret: SecretPlace
}

function report({ way, moved: { tables }, ledger, interrupted, seconds, secret }: Report, out: Context['out']): void {
  const { folder, place } = way
  const rows = sumOf(tables)
  const pace = `${count(rows, 'row')} in ${seconds.toFixed(1)} seconds`
  const settings = settingsOf(way, secret)
  out.result({
    json: { from: folder, to: place, tables, interrupted, ledger, settings: Object.fromEntries(settings) },
    text: paint =>
      [
        tablesText(tables, paint),
        `moved ${pace} from ${folder} to ${place}`,
        ...(interrupted > 0 ? [`${count(interrupted, 'call')} that had been cut off: recorded as interrupted`] : []),
        ledgerText(ledger),
        paint.green('everything adds up, and is the same on both sides'),
        '',
        'What every replica needs:',
        indent(pairs(settings)),
        '',
        `${folder} is as it was, and is not started any more: ${movedPath(folder)} says so. To go back, stop every`,
        'replica and remove that file; what happened since then is not in there.',
      ].join('\n'),
  })
}

function settingsOf({ folder, place }: Way, secret: SecretPlace): [name: string, what: string][] {
  const token = join(folder, 'admin-token')
  return [
    ['DUET_DATABASE_URL', `the address of ${place}`],
    ['DUET_SECRET', secretText(secret)],
    ...(existsSync(token)
      ? [['DUET_ADMIN_TOKEN', `what is in ${token}: DUET_ADMIN_TOKEN=$(cat ${token})`] as [string, string]]
      : []),
  ]
}

const COLUMNS: readonly Column<TableCount>[] = [
  { title: 'TABLE', cell: ({ table }) => table },
  { title: 'ROWS', kind: 'number', cell: ({ rows }) => rows },
]

const tablesText = (tables: readonly TableCount[], paint: Paint): string => table(COLUMNS, tables, paint)

const sumOf = (tables: readonly TableCount[]): number => tables.reduce((sum, { rows }) => sum + rows, 0)

const ledgerText = ({ accounts, entries, usage, balance }: VerifyView): string =>
  `verified ${count(accounts, 'account')}, ${entries} entries, ${count(usage, 'usage record')}, balances of ${usd(balance)}`
