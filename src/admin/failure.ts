/** What goes wrong in the management API, with honest statuses. */
export class AdminError extends Error {
  readonly status: number
  readonly code: string
  readonly param: string | undefined
  /** Seconds. */
  readonly retryAfter: number | undefined

  constructor(status: number, code: string, message: string, more: { param?: string; retryAfter?: number } = {}) {
    super(message)
    this.name = 'AdminError'
    this.status = status
    this.code = code
    this.param = more.param
    this.retryAfter = more.retryAfter
  }
}

export const notFound = (what: string): AdminError => new AdminError(404, 'not_found', `${what} does not exist`)

export const conflict = (message: string, param: string): AdminError =>
  new AdminError(409, 'conflict', message, { param })

export const unprocessable = (message: string, param: string): AdminError =>
  new AdminError(422, 'invalid_field', message, { param })
