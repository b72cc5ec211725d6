import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import { date, dateTime, exactMoney, money, number, roughMoney, tick } from '../app/format.ts'
import { language, t } from '../app/language.ts'
import { onColours } from '../app/theme.ts'
import { Button } from './button.tsx'
import type { Plot } from './plot.ts'

export interface ChartSeries {
  readonly id: string
  readonly label: string
  /** One for each time: exact amounts as strings, or counts. */
  readonly values: readonly (string | number)[]
}

export interface ChartProps {
  readonly title: string
  /** What the chart says, in a sentence, for those who do not see it. */
  readonly summary: string
  /** ISO times, ascending: the beginning of each hour or day. */
  readonly times: readonly string[]
  readonly unit: 'hour' | 'day'
  readonly series: readonly ChartSeries[]
  readonly kind?: 'bars' | 'area' | 'line'
  readonly measure?: 'money' | 'count' | 'ms'
  readonly heightPx?: number
}

const COLOURS = 8

/** Colours by place in the list; the last one is for all others. */
export const colourOf = (index: number) => `var(--chart-${(index % COLOURS) + 1})`

export function Chart({ title, summary, heightPx = 220, ...chart }: ChartProps) {
  const isTable = useSignal(false)
  const id = useId()
  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption>
        <span id={id} class="chart-title">
          {title}
        </span>
        <Button
          kind="quiet"
          size="small"
          icon={isTable.value ? 'chart' : 'table'}
          onClick={() => (isTable.value = !isTable.value)}
        >
          {isTable.value ? t().chart.asChart : t().chart.asTable}
        </Button>
      </figcaption>
      <p class="hidden-text">{summary}</p>
      {isTable.value ? <ChartTable title={title} {...chart} /> : <Drawing heightPx={heightPx} {...chart} />}
    </figure>
  )
}

type DrawingProps = Omit<ChartProps, 'title' | 'summary'>

function Drawing({ times, unit, series, kind = 'bars', measure = 'money', heightPx = 220 }: DrawingProps) {
  const host = useRef<HTMLDivElement>(null)
  const hovered = useSignal<{ readonly index: number; readonly x: number } | null>(null)
  const isEmpty = series.every(({ values }) => values.every(value => Number(value) === 0))

  useEffect(() => {
    const element = host.current
    if (!element || isEmpty) return
    let plot: Plot | undefined
    let isGone = false
    // The library is fetched when the first chart is drawn.
    const draw = async () => {
      const { drawPlot } = await import('./plot.ts')
      if (isGone) return
      plot?.destroy()
      plot = drawPlot(element, {
        kind,
        heightPx,
        isUtc: unit === 'day',
        times: times.map(time => Date.parse(time) / 1_000),
        series: series.map(({ values }) => values.map(Number)),
        axisText: axisTextOf(measure),
        timeText: seconds => tick(new Date(seconds * 1_000).toISOString(), unit),
        onHover: at => {
          hovered.value = at
        },
      })
    }
    draw()
    const stop = onColours(draw)
    return () => {
      isGone = true
      stop()
      plot?.destroy()
    }
  }, [times, series, kind, measure, heightPx, unit, isEmpty, language.value])

  if (isEmpty) return <div class="chart-empty">{t().chart.nothing}</div>
  return (
    <div class="chart-drawing" aria-hidden="true">
      <div ref={host} class="chart-host" style={{ blockSize: `${heightPx}px` }} />
      {hovered.value && <Tip {...hovered.value} times={times} unit={unit} series={series} measure={measure} />}
      <ul class="legend">
        {series.map(({ id, label }, index) => (
          <li key={id}>
            <span class="swatch" style={{ background: colourOf(index) }} />
            {label}
          </li>
        ))}
      </ul>
    </div>
  )
}

interface TipProps extends Required<Pick<ChartProps, 'times' | 'unit' | 'series' | 'measure'>> {
  readonly index: number
  readonly x: number
}

function Tip({ index, x, times, unit, series, measure }: TipProps) {
  const time = times[index] ?? ''
  const isLate = index > times.length / 2
  const rows = series
    .map((entry, place) => ({ entry, place, value: entry.values[index] ?? 0 }))
    .filter(({ value }) => Number(value) !== 0)
  return (
    <div class={isLate ? 'chart-tip before' : 'chart-tip'} style={{ insetInlineStart: `${x}px` }}>
      <div class="chart-tip-time">{unit === 'day' ? date(time, 'UTC') : dateTime(time)}</div>
      {rows.length === 0 && <div>{t().chart.nothing}</div>}
      {rows.map(({ entry, place, value }) => (
        <div key={entry.id} class="chart-tip-row">
          <span class="swatch" style={{ background: colourOf(place) }} />
          <span>{entry.label}</span>
          <span class="numeric">{valueText(value, measure)}</span>
        </div>
      ))}
    </div>
  )
}

function ChartTable({ title, times, unit, series, measure = 'money' }: Omit<DrawingProps, 'kind'> & { title: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable without a pointer.
    <div class="chart-table" tabIndex={0} role="region" aria-label={title}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t().chart.time}</th>
            {series.map(({ id, label }) => (
              <th key={id} scope="col" class="numeric">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map((time, index) => (
            <tr key={time}>
              <th scope="row">{unit === 'day' ? date(time, 'UTC') : dateTime(time)}</th>
              {series.map(({ id, values }) => (
                <td key={id} class="numeric">
                  {exactText(values[index] ?? 0, measure)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function valueText(value: string | number, measure: 'money' | 'count' | 'ms'): string {
  if (measure === 'money') return money(String(value))
  return measure === 'ms' ? `${number(Math.round(Number(value)))} ms` : number(Number(value))
}

const exactText = (value: string | number, measure: 'money' | 'count' | 'ms') =>
  measure === 'money' ? exactMoney(String(value)) : valueText(value, measure)

function axisTextOf(measure: 'money' | 'count' | 'ms'): (value: number) => string {
  if (measure === 'money') return roughMoney
  return measure === 'ms' ? value => `${number(value)} ms` : number
}
