type Fields = Readonly<Record<string, unknown>>

export interface Log {
  info(message: string, fields?: Fields): void
  error(message: string, fields?: Fields): void
  /** Writes what waits: the process is about to end. */
  flush(): void
}

/**
 * One JSON object a line. Lines of one turn of the event loop are written together. Nothing a caller sends is logged:
 * no bodies, no headers, no query strings, no keys.
 */
export function createLog(write: (text: string) => void, clock: () => number): Log {
  let waiting = ''
  const line = (level: string, message: string, fields: Fields = {}) => {
    if (waiting === '') setImmediate(flush)
    const { error, ...rest } = fields
    const described =
      error === undefined ? {} : { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
    const time = new Date(clock()).toISOString()
    waiting += `${JSON.stringify({ time, level, message, ...rest, ...described })}\n`
  }
  const flush = () => {
    if (waiting !== '') write(waiting)
    waiting = ''
  }
  return {
    info: (message, fields) => line('info', message, fields),
    error: (message, fields) => line('error', message, fields),
    flush,
  }
}
