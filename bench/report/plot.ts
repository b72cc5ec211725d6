import type { Spread } from './figures.ts'

export interface Bar {
  readonly label: string
  readonly spread: Spread
  /** Ours is in colour. */
  readonly isOurs: boolean
}

export interface Plot {
  readonly title: string
  readonly subtitle: string
  readonly bars: readonly Bar[]
  readonly write: (value: number) => string
}

const WIDTH = 760
const MARGIN = 28
const LABELS = 190
/** Behind the longest bar, for its figure. */
const FIGURES = 96
const TOP = 88
const ROW = 40
const BAR = 20
const BARS_LEFT = MARGIN + LABELS
const BARS_WIDTH = WIDTH - BARS_LEFT - FIGURES - MARGIN

/** Readers choose their colours elsewhere, so it brings a ground of its own for both. */
const STYLE = `
    .ground { fill: #ffffff; stroke: #e4e4ea }
    .title { fill: #1c1c28; font: 600 18px system-ui, sans-serif }
    .subtitle { fill: #6a6a7c; font: 13px system-ui, sans-serif }
    .label { fill: #3a3a4a; font: 14px system-ui, sans-serif; text-anchor: end }
    .figure { fill: #3a3a4a; font: 14px system-ui, sans-serif; font-variant-numeric: tabular-nums }
    .ours { font-weight: 600; fill: #1c1c28 }
    .bar { fill: #c9c9d6 }
    .bar.ours { fill: #5b5bd6 }
    .track { fill: #f4f4f8 }
    .spread { stroke: #1c1c28; stroke-opacity: .45; stroke-width: 1.5 }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #16161d; stroke: #2c2c38 }
      .title, .label.ours, .figure.ours { fill: #f2f2f7 }
      .subtitle { fill: #9c9cae }
      .label, .figure { fill: #cfcfdc }
      .bar { fill: #4c4c5e }
      .bar.ours { fill: #8e8cf0 }
      .track { fill: #1f1f29 }
      .spread { stroke: #ffffff; stroke-opacity: .6 }
    }`

/** Bars from the left, one below the other, each with its figure and the spread of its rounds. */
export function barChart({ title, subtitle, bars, write }: Plot): string {
  const most = Math.max(...bars.map(({ spread }) => spread.high))
  const scale = (value: number) => Math.max(0, (value / most) * BARS_WIDTH)
  const height = TOP + bars.length * ROW + MARGIN - (ROW - BAR)
  const rows = bars.map((bar, place) => row(bar, { top: TOP + place * ROW, scale, write }))
  const said = bars.map(({ label, spread }) => `${label}: ${write(spread.median)}`).join('; ')
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title about">
  <title id="title">${title}</title>
  <desc id="about">${subtitle} ${said}.</desc>
  <style>${STYLE}
  </style>
  <rect class="ground" x=".5" y=".5" width="${WIDTH - 1}" height="${height - 1}" rx="12" />
  <text class="title" x="${MARGIN}" y="40">${title}</text>
  <text class="subtitle" x="${MARGIN}" y="62">${subtitle}</text>
${rows.join('\n')}
</svg>
`
}

interface Place {
  readonly top: number
  readonly scale: (value: number) => number
  readonly write: (value: number) => string
}

function row({ label, spread, isOurs }: Bar, { top, scale, write }: Place): string {
  const ours = isOurs ? ' ours' : ''
  const middle = top + BAR / 2
  const baseline = middle + 5
  const [low, length, high] = [spread.low, spread.median, spread.high].map(value => BARS_LEFT + scale(value))
  const line = `<line class="spread" x1="${at(low)}" x2="${at(high)}" y1="${middle}" y2="${middle}" />`
  return [
    `  <text class="label${ours}" x="${BARS_LEFT - 14}" y="${baseline}">${label}</text>`,
    `  <rect class="track" x="${BARS_LEFT}" y="${top}" width="${BARS_WIDTH}" height="${BAR}" rx="4" />`,
    `  <rect class="bar${ours}" x="${BARS_LEFT}" y="${top}" width="${at(Math.max(2, (length ?? 0) - BARS_LEFT))}" height="${BAR}" rx="4" />`,
    ...(spread.high > spread.low ? [`  ${line}`] : []),
    `  <text class="figure${ours}" x="${BARS_LEFT + BARS_WIDTH + 14}" y="${baseline}">${write(spread.median)}</text>`,
  ].join('\n')
}

const at = (value = 0): string => value.toFixed(1)
