import { databasePath } from '../open-store.ts'
import type { Schema, SchemaStep } from '../store/schema.ts'
import { embeddedSchema } from '../store/sqlite/schema.ts'
import type { Context, Run } from './command.ts'
import { askingDatabase, databaseUrlIn, placeOf } from './database.ts'
import { asCommandError, failure, unhealthy } from './failure.ts'
import { dataFolder } from './server.ts'
import { type Column, count, table } from './table.ts'

/** Brings the database that a start from here would use to the form that this version knows. */
export const migrate: Run = async (given, context) => {
  const { place, schema, backup } = await openSchema(context)
  try {
    await explaining(place, async () =>
      given.has('check') ? await check(place, schema, context) : await apply(place, schema, { context, backup }),
    )
  } finally {
    await schema.close()
  }
}

interface OpenedSchema {
  readonly place: string
  readonly schema: Schema
  /** Where the copy of an embedded database is, once it was made. */
  readonly backup: () => string | null
}

async function openSchema({ env, out }: Context): Promise<OpenedSchema> {
  const url = databaseUrlIn(env)
  if (url === undefined) {
    let backup: string | null = null
    const path = databasePath(dataFolder(env))
    const kept = (copy: string) => {
      backup = copy
      out.note(`a copy of the database as it was is in ${copy}`)
    }
    return { place: path, schema: embeddedSchema(path, { kept }), backup: () => backup }
  }
  const { postgresSchema } = await import('../store/postgres/schema.ts')
  const place = placeOf(url)
  const waiting = () => out.note(`another Duet is changing the schema of ${place}: waiting for it`)
  return { place, schema: postgresSchema(url, { waiting }), backup: () => null }
}

async function check(place: string, schema: Schema, { out }: Context): Promise<void> {
  const pending = await schema.pending()
  report({ place, schema, steps: pending, json: { pending } }, out)
  if (pending.length > 0) throw unhealthy(`${place}: ${count(pending.length, 'migration')} would be applied`)
}

async function apply(
  place: string,
  schema: Schema,
  { context, backup }: { readonly context: Context; readonly backup: OpenedSchema['backup'] },
): Promise<void> {
  const applied = await schema.apply()
  report({ place, schema, steps: applied, json: { applied, backup: backup() } }, context.out)
  if (applied.length > 0) context.out.note(`${place}: ${count(applied.length, 'migration')} applied`)
}

const COLUMNS: readonly Column<SchemaStep>[] = [
  { title: 'SCHEMA', kind: 'number', cell: ({ version }) => version },
  { title: 'WHAT', cell: ({ name }) => name },
]

interface Report {
  readonly place: string
  readonly schema: Schema
  readonly steps: readonly SchemaStep[]
  readonly json: object
}

function report({ place, schema: { newest }, steps, json }: Report, out: Context['out']): void {
  out.result({
    json: { database: place, schema: newest, ...json },
    quiet: steps.map(({ version }) => String(version)),
    text: paint => (steps.length > 0 ? table(COLUMNS, steps, paint) : `${place} is up to date (schema ${newest})`),
  })
}

async function explaining(place: string, work: () => Promise<void>): Promise<void> {
  try {
    await askingDatabase(place, work)
  } catch (error) {
    const { message } = asCommandError(error)
    if (!message.includes('database is locked')) throw error
    throw failure(`another Duet is using ${place}; it has brought it up to date when it started`)
  }
}
