import { ratio } from '../app/decimal.ts'

interface MeterProps {
  /** What is measured, for those who do not see the bar: "$4.10 of $5.00 spent". */
  readonly label: string
  /** Exact amounts. */
  readonly value: string
  readonly max: string
  readonly size?: 'thin' | 'thick'
}

const NEAR = 0.8

/** How much of a limit is used. The colour repeats what the text beside it says. */
export function Meter({ label, value, max, size = 'thin' }: MeterProps) {
  const share = Math.min(Math.max(ratio(value, max), 0), 1)
  const tone = share >= 1 ? 'bad' : share >= NEAR ? 'warn' : 'good'
  return (
    <div
      class={`meter ${tone} ${size}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
      aria-valuetext={label}
      title={label}
    >
      <div style={{ inlineSize: `${share * 100}%` }} />
    </div>
  )
}
