/** How much a model should think, from not at all to as much as it takes. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

export type Effort = (typeof EFFORTS)[number]

export const isEffort = (value: unknown): value is Effort => EFFORTS.includes(value as Effort)

/** The word itself, or the strongest that is no stronger, or the weakest there is. Not to think has no near relation. */
export function nearestEffort(effort: Effort, known: readonly Effort[]): Effort | undefined {
  if (known.includes(effort)) return effort
  if (effort === 'none') return undefined
  const ordered = EFFORTS.filter(word => word !== 'none' && known.includes(word))
  return ordered.findLast(word => EFFORTS.indexOf(word) < EFFORTS.indexOf(effort)) ?? ordered[0]
}
