/** What scripts can tell apart. */
export const EXIT = { ok: 0, failure: 1, usage: 2, unhealthy: 3, notFound: 4 } as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Why a command cannot do what it was asked for: a line for people, a code for scripts. */
export class CommandError extends Error {
  readonly code: string
  readonly exit: ExitCode

  constructor(message: string, { code, exit }: { readonly code: string; readonly exit: ExitCode }) {
    super(message)
    this.name = 'CommandError'
    this.code = code
    this.exit = exit
  }
}

export const failure = (message: string, code = 'failed'): CommandError =>
  new CommandError(message, { code, exit: EXIT.failure })

export const wrongUsage = (message: string): CommandError =>
  new CommandError(message, { code: 'usage', exit: EXIT.usage })

export const unhealthy = (message: string): CommandError =>
  new CommandError(message, { code: 'unhealthy', exit: EXIT.unhealthy })

export const notFound = (message: string): CommandError =>
  new CommandError(message, { code: 'not_found', exit: EXIT.notFound })

export const isUnreachable = (error: unknown): error is CommandError =>
  error instanceof CommandError && error.code === UNREACHABLE

export const UNREACHABLE = 'unreachable'

export function asCommandError(error: unknown): CommandError {
  if (error instanceof CommandError) return error
  return failure(error instanceof Error ? error.message : String(error))
}
