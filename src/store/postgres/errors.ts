import { StoreBusy, StoreUnavailable } from '../../core/store.ts'

/** What the server calls it (SQLSTATE). */
const stateOf = (error: unknown): string =>
  error instanceof Error && 'errno' in error && typeof error.errno === 'string' ? error.errno : ''

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/** Two were in each other's way: a serialization failure, or a deadlock. Whoever begins again will be let through. */
export const isConflict = (error: unknown): boolean => ['40001', '40P01'].includes(stateOf(error))

/**
 * Nothing is wrong with what was asked: the connection is gone (08), the server stops, starts, or has no room (57P, 53), it is
 * a copy that may not be written to (25006), or its disk fails (58).
 */
const AWAY_STATES = /^(08|53|57P|58|25006)/

/** The driver's own words for a connection that it could not make, or has lost. */
const AWAY_CODES =
  /^(ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME)|ECONN|ENOTFOUND|EAI_|EPIPE|ETIMEDOUT|EHOST|ENET|ERR_SOCKET|FailedToOpenSocket)/

/** The server gave up waiting for a lock, or working. It has taken back what it had done, and is there for everybody else. */
const LOCKED_STATE = '55P03'
const TOO_SLOW_STATE = '57014'

const isBusy = (error: unknown): boolean => [LOCKED_STATE, TOO_SLOW_STATE].includes(stateOf(error))

/** A pooler that will never let a word of the address through, and calls it what it calls a server that is away. */
const isRefusedByPooler = (error: unknown): boolean => String(error).includes('unsupported startup parameter')

/** Nobody is to blame who asked. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof StoreUnavailable ||
  isBusy(error) ||
  (AWAY_STATES.test(stateOf(error)) && !isRefusedByPooler(error)) ||
  AWAY_CODES.test(codeOf(error))

/** As the rest of the house knows it. */
export function storeErrorOf(error: unknown): unknown {
  if (error instanceof StoreUnavailable || !isUnavailable(error)) return error
  return isBusy(error)
    ? new StoreBusy('the database is busy', { cause: error })
    : new StoreUnavailable('the database is away', { cause: error })
}

/** What was asked for is locked by somebody else. */
export const isLocked = (error: StoreBusy): boolean => stateOf(error.cause) === LOCKED_STATE
