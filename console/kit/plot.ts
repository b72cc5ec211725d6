import uPlot from 'uplot'

/** Everything that knows uPlot. Loaded when the first chart is shown. */

export interface PlotOptions {
  readonly kind: 'bars' | 'area' | 'line'
  readonly heightPx: number
  /** Days are counted in UTC, as the server does; hours are the reader's own. */
  readonly isUtc: boolean
  /** In seconds, as uPlot counts. */
  readonly times: readonly number[]
  readonly series: readonly (readonly number[])[]
  readonly axisText: (value: number) => string
  readonly timeText: (seconds: number) => string
  readonly onHover: (at: { readonly index: number; readonly x: number } | null) => void
}

export interface Plot {
  destroy(): void
}

const BAR_SHARE = 0.72
const BAR_PX_MAX = 42
const AXIS_PX = 52
const COLOURS = 8

export function drawPlot(host: HTMLElement, options: PlotOptions): Plot {
  const { kind, heightPx, times, onHover } = options
  const tokens = getComputedStyle(host)
  const token = (name: string) => tokens.getPropertyValue(name).trim()
  const isStacked = kind !== 'line'
  const stacked = isStacked ? stack(options.series) : options.series.map(values => [...values])
  // The highest stack is drawn first and the next one over it, so that each part shows as much as it adds.
  const order = isStacked ? stacked.map((_, index) => index).reverse() : stacked.map((_, index) => index)
  const grid = { stroke: token('--line'), width: 1 }
  const font = `12px ${token('--font')}`
  const axis = { stroke: token('--text-2'), font, ticks: { show: false } }

  const plot = new uPlot(
    {
      width: Math.max(host.clientWidth, 1),
      height: heightPx,
      padding: [8, 8, 0, 0],
      legend: { show: false },
      tzDate: seconds =>
        options.isUtc ? uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC') : new Date(seconds * 1_000),
      cursor: { y: false, drag: { x: false, y: false }, points: { show: kind === 'line' } },
      scales: {
        x: { range: kind === 'bars' ? barRange(times) : edges },
        y: { range: (_plot, _min, max) => [0, max * 1.08 || 1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 28,
          space: 72,
          values: (_plot, splits) => splits.map(options.timeText),
        },
        { ...axis, grid, size: AXIS_PX, space: 42, values: (_plot, splits) => splits.map(options.axisText) },
      ],
      series: [{}, ...order.map(index => seriesOf({ kind, colour: token(`--chart-${(index % COLOURS) + 1}`) }))],
      hooks: {
        setCursor: [
          ({ cursor }) => onHover(cursor.idx == null ? null : { index: cursor.idx, x: (cursor.left ?? 0) + AXIS_PX }),
        ],
      },
    },
    [[...times], ...order.map(index => stacked[index] ?? [])],
    host,
  )
  const resize = new ResizeObserver(() => plot.setSize({ width: Math.max(host.clientWidth, 1), height: heightPx }))
  resize.observe(host)
  return {
    destroy() {
      resize.disconnect()
      plot.destroy()
    },
  }
}

function seriesOf({ kind, colour }: { readonly kind: PlotOptions['kind']; readonly colour: string }): uPlot.Series {
  const base = { stroke: colour, width: kind === 'bars' ? 0 : 2, points: { show: false } }
  if (kind === 'line') return base
  if (kind === 'area') return { ...base, fill: colour }
  const bars = uPlot.paths.bars?.({ size: [BAR_SHARE, BAR_PX_MAX], radius: 0.12 })
  return { ...base, fill: colour, ...(bars ? { paths: bars } : {}) }
}

/** Each series on top of those before it. */
function stack(series: readonly (readonly number[])[]): number[][] {
  const sums: number[] = []
  return series.map(values =>
    values.map((value, index) => {
      sums[index] = (sums[index] ?? 0) + value
      return sums[index]
    }),
  )
}

const edges: uPlot.Range.Function = (_plot, min, max) => [min, max]

/** Half a bar of room on both sides, else the first and the last would be cut. */
function barRange(times: readonly number[]): uPlot.Range.Function {
  const step = (times[1] ?? 0) - (times[0] ?? 0) || 3_600
  return (_plot, min, max) => [min - step / 2, max + step / 2]
}
