import type { Figures, Workload } from '../workloads/workload.ts'

/** Progress goes where it does not mix with tables. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

export const summary = ({ columns }: Workload, figures: Figures): string =>
  columns
    .filter(({ figure, isOverDirect }) => figures[figure] !== undefined && !isOverDirect)
    .map(({ figure, heading, digits }) => `${figures[figure]?.toFixed(digits ?? 0)} ${heading}`)
    .join(', ')
