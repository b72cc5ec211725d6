interface SparklineProps {
  readonly values: readonly number[]
  /** What it shows, in words. */
  readonly label: string
  readonly tone?: 'accent' | 'bad'
}

const WIDTH = 96
const HEIGHT = 28
const PAD = 2

export function Sparkline({ values, label, tone = 'accent' }: SparklineProps) {
  const max = Math.max(...values, 0)
  const step = values.length > 1 ? (WIDTH - 2 * PAD) / (values.length - 1) : 0
  const points = values.map((value, index) => {
    const height = max === 0 ? 0 : (value / max) * (HEIGHT - 2 * PAD)
    return `${(PAD + index * step).toFixed(1)},${(HEIGHT - PAD - height).toFixed(1)}`
  })
  return (
    <svg class={`sparkline ${tone}`} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} role="img">
      <title>{label}</title>
      <polygon points={`${PAD},${HEIGHT - PAD} ${points.join(' ')} ${WIDTH - PAD},${HEIGHT - PAD}`} />
      <polyline points={points.join(' ')} />
    </svg>
  )
}
