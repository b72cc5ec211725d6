/** The smallest value that so many percent of all do not exceed: one that really occurred; undefined where there are none. */
export function percentile(values: readonly number[], percent: number): number | undefined {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.ceil((percent * sorted.length) / 100) - 1]
}
