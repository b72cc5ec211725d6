/** What a user message may ask of the sandbox, e.g. `[[error 429]]`: see the operator's page. */
export interface Directives {
  readonly errorStatus?: number
  readonly delayMs?: number
  readonly interruption?: Interruption
  /** The size of the answer. */
  readonly tokens?: number
  readonly withoutUsage?: boolean
}

export interface Interruption {
  readonly how: 'cut' | 'stall' | 'garbage'
  readonly afterDeltas: number
}

const DELAY_MS_MAX = 10 * 60 * 1000

/** Far more than any model writes, and still only megabytes here. */
const TOKENS_MAX = 1_000_000

const DIRECTIVE = /\[\[ *([a-z-]+)(?: +(\d+(?:\.\d+)?) *(ms|s|m)?)? *\]\]/gi

const UNITS_MS = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
])

type Reader = (amount: number, unit: string) => Directives | undefined

const READERS = new Map<string, Reader>([
  ['error', status => (status >= 400 && status <= 599 ? { errorStatus: Math.floor(status) } : undefined)],
  ['delay', (amount, unit) => readDelay(amount * (UNITS_MS.get(unit) ?? Number.NaN))],
  [
    'cut',
    deltas => (Number.isNaN(deltas) ? undefined : { interruption: { how: 'cut', afterDeltas: Math.floor(deltas) } }),
  ],
  ['stall', () => ({ interruption: { how: 'stall', afterDeltas: 3 } })],
  ['garbage', () => ({ interruption: { how: 'garbage', afterDeltas: 2 } })],
  ['tokens', tokens => (tokens >= 1 ? { tokens: Math.min(TOKENS_MAX, Math.floor(tokens)) } : undefined)],
  ['no-usage', () => ({ withoutUsage: true })],
])

/** The directives of a message, and the message without them; what is no directive stays in the text. */
export function readDirectives(message: string): { readonly directives: Directives; readonly text: string } {
  let directives: Directives = {}
  const text = message.replaceAll(DIRECTIVE, (whole, name: string, amount?: string, unit = '') => {
    const found = READERS.get(name.toLowerCase())?.(Number(amount ?? Number.NaN), unit.toLowerCase())
    directives = { ...directives, ...found }
    return found === undefined ? whole : ''
  })
  return { directives, text: text.trim() }
}

function readDelay(ms: number): Directives | undefined {
  return Number.isNaN(ms) ? undefined : { delayMs: Math.min(DELAY_MS_MAX, ms) }
}
