import type { Ask } from '../core/ask.ts'
import { GatewayError } from '../core/failure.ts'
import { type Nanos, parseDollars, ZERO } from '../core/money.ts'
import { editSource, TextSource } from '../protocol/json.ts'

const HEADER = 'x-duet-max-cost'

/** What the caller will pay for this one call at most; undefined where nothing is said of it. */
export function readCeiling(headers: Headers): Nanos | undefined {
  const given = headers.get(HEADER)
  if (given === null) return undefined
  const ceiling = parseDollars(given.trim())
  if (ceiling === undefined || ceiling <= ZERO) {
    const problem = 'must be an amount of dollars above zero with at most nine decimals, such as 0.05'
    throw new GatewayError({ kind: 'header-invalid', name: HEADER, problem })
  }
  return ceiling
}

/**
 * The request as an upstream is asked that has to be stopped at a ceiling: a whole answer is known when it is made and
 * must be paid, and its reasoning goes beyond every limit, so the answer is asked for as a stream.
 */
export const askedAsStream = (ask: Ask): Ask => ({
  ...ask,
  stream: true,
  body: { ...ask.body, stream: true },
  source: new TextSource(editSource(ask.source, new Map([['stream', 'true']]))),
})
