/** One thing that was looked at. */
export interface Check {
  readonly name: string
  readonly status: 'ok' | 'warning' | 'failed'
  readonly message: string
  /** More lines, where there is more than one thing to say. */
  readonly details?: readonly string[]
}

export const ok = (name: string, message: string): Check => ({ name, status: 'ok', message })

export const warning = (name: string, message: string, details?: readonly string[]): Check => ({
  ...{ name, status: 'warning', message },
  ...(details ? { details } : {}),
})

export const failed = (name: string, message: string, details?: readonly string[]): Check => ({
  ...{ name, status: 'failed', message },
  ...(details ? { details } : {}),
})
