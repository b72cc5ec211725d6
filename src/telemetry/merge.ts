import type { Family, Merge, Sample } from './prometheus.ts'

const TOGETHER: Readonly<Record<Merge, (one: number, other: number) => number>> = {
  sum: (one, other) => one + other,
  min: Math.min,
}

/** The figures of several processes as those of one. A series that only some of them have is there as it is. */
export function mergeFamilies(processes: readonly (readonly Family[])[]): readonly Family[] {
  const byName = Map.groupBy(processes.flat(), ({ name }) => name)
  return [...byName.values()].flatMap(([first, ...others]) => (first ? [mergeFamily(first, others)] : []))
}

function mergeFamily(first: Family, others: readonly Family[]): Family {
  const together = TOGETHER[first.merge ?? 'sum']
  const merged = new Map<string, Sample>()
  for (const sample of [first, ...others].flatMap(({ samples }) => samples)) {
    const series = seriesOf(sample)
    const known = merged.get(series)
    merged.set(series, known ? { ...sample, value: together(known.value, sample.value) } : sample)
  }
  return { ...first, samples: [...merged.values()] }
}

const seriesOf = ({ suffix, labels }: Sample): string => JSON.stringify([suffix, labels])
