import { existsSync } from 'node:fs'
import type { ProblemView, VerifyProgressView, VerifyView } from '../admin/contract.ts'
import { NDJSON } from '../admin/ndjson.ts'
import type { OpenedAudit, openAudit } from '../open-audit.ts'
import { Api } from './api.ts'
import type { Context, Run } from './command.ts'
import { askingDatabase, databaseUrlIn, placeOf } from './database.ts'
import { asCommandError, failure, isUnreachable, notFound, unhealthy } from './failure.ts'
import type { Paint } from './paint.ts'
import { dataFolder, findServer } from './server.ts'
import { clean, indent, pairs, usd } from './table.ts'

export const verifyLedger: Run = async (given, context) => {
  const folder = given.maybe('data')
  const found = folder === undefined ? await verifySomehow(context) : await verifyFile(folder, context)
  context.out.result({ json: found, text: paint => report(found, paint) })
  if (found.problem) throw unhealthy(`the ledger does not add up: ${where(found.problem)}`)
}

/** By the running server; by ourselves, if none runs where one would, and its database is here. */
async function verifySomehow(context: Context): Promise<VerifyView> {
  const place = findServer(context.env)
  try {
    return await verifyRunning(new Api(place), context)
  } catch (error) {
    if (!isUnreachable(error) || place.isNamed) throw error
    const url = databaseUrlIn(context.env)
    if (url !== undefined) {
      context.out.note(`no Duet answers at ${place.base}; asking the database ${placeOf(url)} instead`)
      return verifyPostgres(url, context)
    }
    const { databasePath } = await import('../open-store.ts')
    const folder = dataFolder(context.env)
    const path = databasePath(folder)
    if (!existsSync(path)) throw error
    context.out.note(`no Duet answers at ${place.base}; opening ${path} instead`)
    return verifyFile(folder, context)
  }
}

async function verifyRunning(api: Api, { out }: Context): Promise<VerifyView> {
  for await (const line of api.lines<VerifyProgressView | VerifyView>('/ledger/verify', NDJSON)) {
    if ('ok' in line) {
      out.progress('')
      return line
    }
    out.progress(progressText(line))
  }
  throw failure('the server ended before it had a result', 'broken_off')
}

async function verifyFile(folder: string, context: Context): Promise<VerifyView> {
  const { databasePath } = await import('../open-store.ts')
  const path = databasePath(folder)
  if (!existsSync(path)) throw notFound(`there is no database at ${path}`)
  return verifyOpened(await openOrExplain(path, () => open({ dataFolder: folder, databaseUrl: undefined })), context)
}

/** Others may use it meanwhile: what is read belongs together. */
async function verifyPostgres(url: string, context: Context): Promise<VerifyView> {
  return askingDatabase(placeOf(url), async () =>
    verifyOpened(await open({ dataFolder: dataFolder(context.env), databaseUrl: url }), context),
  )
}

const open = async (place: Parameters<typeof openAudit>[0]): Promise<OpenedAudit> =>
  (await import('../open-audit.ts')).openAudit(place)

async function verifyOpened({ audit, close }: OpenedAudit, { out }: Context): Promise<VerifyView> {
  const [{ verify }, { viewVerification }] = await Promise.all([
    import('../ledger/verify.ts'),
    import('../admin/verify.ts'),
  ])
  try {
    const found = await verify(audit, { report: progress => out.progress(progressText(progress)) })
    out.progress('')
    return viewVerification(found)
  } finally {
    await close()
  }
}

async function openOrExplain<T>(path: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (error) {
    const { message } = asCommandError(error)
    throw failure(message.includes(path) ? message : `cannot open ${path}: ${message}`)
  }
}

const progressText = ({ checked, total }: VerifyProgressView): string => `checked ${checked} of ${total} rows`

function report(found: VerifyView, paint: Paint): string {
  const { unpriced, problem } = found
  const old = unpriced > 0 ? ` (${unpriced} of them from before prices had versions: summed, not computed again)` : ''
  if (problem) return problemText(problem, paint)
  const counts = pairs([
    ['accounts', found.accounts],
    ['entries', found.entries],
    ['charges', `${found.charges}${old}`],
    ['usage records', found.usage],
    ['open holds', found.open_holds],
    ['sum of balances', usd(found.balance)],
  ])
  return `${counts}\n${paint.green('everything adds up')}`
}

const problemText = (problem: ProblemView, paint: Paint): string =>
  `${paint.red(where(problem))}\n${indent(
    pairs([
      ['expected', problem.expected],
      ['found', problem.found],
    ]),
  )}`

const where = ({ table, row, problem }: ProblemView): string => `${table} ${clean(row)}: ${problem}`
