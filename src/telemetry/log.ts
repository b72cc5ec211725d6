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
    const { error } = fields
    const described = error === undefined ? fields : { ...fields, error: describe(error) }
    waiting += `${JSON.stringify({ time: timeOf(clock()), level, message, ...described })}\n`
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

const describe = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))

let last = { at: 0, text: '' }

/** A busy gateway writes many lines in a millisecond. */
function timeOf(at: number): string {
  if (last.at !== at) last = { at, text: new Date(at).toISOString() }
  return last.text
}
