/** Tokens by the class that prices them. `reasoning` is a part of `output`, never added to it. */
export interface Usage {
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
  readonly reasoning: number
}

/** Where the numbers of a bill come from: the upstream, our count of what was relayed, or a guess before anything came. */
export type UsageSource = 'upstream' | 'counted' | 'estimated'

export const NO_USAGE: Usage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }

export const addUsage = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  cacheRead: a.cacheRead + b.cacheRead,
  cacheWrite: a.cacheWrite + b.cacheWrite,
  output: a.output + b.output,
  reasoning: a.reasoning + b.reasoning,
})

/** All tokens that were read, cached or not: what chat calls `prompt_tokens`. */
export const promptTokens = (usage: Usage): number => usage.input + usage.cacheRead + usage.cacheWrite

/** Far above any context there is: a larger number is a mistake that must not reach a bill. */
const TOKENS_MAX = 1_000_000_000

/** Vendors leave counters out, send null, or send nonsense: all of that is no count. */
export function tokenCount(value: unknown): number | undefined {
  const isCount = Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= TOKENS_MAX
  return isCount ? (value as number) : undefined
}
