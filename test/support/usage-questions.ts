import type { UsageFilter } from '../../src/core/records.ts'

export type UsageQuestion = readonly [title: string, filter: UsageFilter]

const isOneQuestion = (a: string, b: string) => a < b && !(a.includes('status') && b.includes('status'))

/** No filter at all, each by itself, and every two of them that can be asked for together. */
export const questionsWith = (filters: Readonly<Record<string, UsageFilter>>): readonly UsageQuestion[] => [
  ['nothing', {}],
  ...Object.entries(filters),
  ...Object.entries(filters).flatMap(([a, one]) =>
    Object.entries(filters)
      .filter(([b]) => isOneQuestion(a, b))
      .map(([b, other]): UsageQuestion => [`${a} and ${b}`, { ...one, ...other }]),
  ),
]
