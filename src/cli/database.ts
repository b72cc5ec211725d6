import { readDatabaseUrl } from '../config/secrets.ts'
import { StoreUnavailable } from '../core/store.ts'
import { CommandError, failure, UNREACHABLE, wrongUsage } from './failure.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Of the PostgreSQL that a start from here would use; undefined for the embedded database. */
export function databaseUrlIn(env: Environment): string | undefined {
  const faults: string[] = []
  const url = readDatabaseUrl(env, faults)
  if (faults.length > 0) throw wrongUsage(faults.join('; '))
  return url
}

/** Host and database: what can be shown of an address that holds a password. */
export function placeOf(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname === '/' ? '' : decodeURI(pathname)}`
}

/** The driver's words tell a closed port from a name that nobody knows; they never say the password. */
export async function askingDatabase<T>(place: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof StoreUnavailable) throw away(place, error)
    throw isDrivers(error) ? failure(`${place}: ${error.message}`) : error
  }
}

/** Errors of databases and connections have a code; they say what is wrong, but not where. Our own say both. */
const isDrivers = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && !(error instanceof CommandError)

function away(place: string, { message, cause }: StoreUnavailable): CommandError {
  const reason = cause instanceof Error ? cause.message : message
  return failure(`the database ${place} does not answer (${reason})`, UNREACHABLE)
}
