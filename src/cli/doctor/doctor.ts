import type { Context, Run } from '../command.ts'
import { databaseUrlIn } from '../database.ts'
import { asCommandError, unhealthy } from '../failure.ts'
import type { Paint } from '../paint.ts'
import { dataFolder } from '../server.ts'
import { clean, count, indent } from '../table.ts'
import { checkChannels } from './channels.ts'
import { type Check, failed } from './check.ts'
import { type Configuration, checkConfiguration } from './configuration.ts'
import { checkData } from './data.ts'
import { hintsFor, hintsText } from './hints.ts'
import { checkModels, type KnownModel, modelsIn, modelsOf } from './models.ts'
import { type Visit, visitServer } from './server.ts'

/** Looks at everything that a call depends on, from the configuration to the upstreams. */
export const doctor: Run = async (_, context) => {
  const configuration = await checkConfiguration(context)
  const visit = await visitServer(context)
  const store = await checkStore(visit, context)
  const { models, checks: catalog } = await checkCatalog(configuration, visit)
  const checks = [configuration.check, ...visit.checks, ...store, ...catalog]
  const red = checks.filter(({ status }) => status === 'failed')
  const hints = visit.place && hintsFor(visit.place.base, models)
  context.out.result({
    json: { ok: red.length === 0, checks, ...hints },
    text: paint => `${checksText(checks, paint)}${hints ? `\n\n${hintsText(hints)}` : ''}`,
  })
  if (red.length > 0) throw unhealthy(`${count(red.length, 'check')} failed: ${red.map(({ name }) => name).join(', ')}`)
}

/** The PostgreSQL that a start from here would use, or the folder. */
async function checkStore(visit: Visit, context: Context): Promise<readonly Check[]> {
  try {
    const url = databaseUrlIn(context.env)
    if (url === undefined) return [await checkData(dataFolder(context.env), visit)]
    return await (await import('./postgres.ts')).checkPostgres(url, context)
  } catch (error) {
    return [failed('database', asCommandError(error).message)]
  }
}

interface CatalogChecks {
  readonly models: readonly KnownModel[]
  readonly checks: readonly Check[]
}

/** What the running server serves; without one, what a start would serve. */
async function checkCatalog({ settings }: Configuration, { api }: Visit): Promise<CatalogChecks> {
  if (!api) {
    const models = settings ? modelsIn(settings.loaded) : []
    return { models, checks: settings ? [checkModels(models)] : [] }
  }
  try {
    const [models, channels] = await Promise.all([modelsOf(api), checkChannels(api)])
    return { models, checks: [checkModels(models), ...channels] }
  } catch (error) {
    return { models: [], checks: [failed('models', asCommandError(error).message)] }
  }
}

const MARKS: Record<Check['status'], (paint: Paint) => string> = {
  ok: ({ green }) => green('✓'),
  warning: ({ yellow }) => yellow('!'),
  failed: ({ red }) => red('✗'),
}

function checksText(checks: readonly Check[], paint: Paint): string {
  const width = Math.max(...checks.map(({ name }) => Bun.stringWidth(name)))
  return checks
    .flatMap(({ name, status, message, details = [] }) => [
      `${MARKS[status](paint)} ${name}${' '.repeat(width - Bun.stringWidth(name))}  ${clean(message)}`,
      ...details.map(detail => indent(`  - ${clean(detail)}`)),
    ])
    .join('\n')
}
