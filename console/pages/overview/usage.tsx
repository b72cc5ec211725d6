import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { OverviewView, SeriesView } from '../../../src/admin/contract.ts'
import { add, isZero } from '../../app/decimal.ts'
import { money, number } from '../../app/format.ts'
import { language, t } from '../../app/language.ts'
import { query, setQuery } from '../../app/router.ts'
import { Chart, type ChartSeries } from '../../kit/chart.tsx'
import { Card, Section, Segments } from '../../kit/index.ts'

type Measure = 'spend' | 'requests'

/** `?measure=requests`; money unless it is said. */
const measured = (): Measure => (query.value.get('measure') === 'requests' ? 'requests' : 'spend')

export function Usage({ view }: { readonly view: OverviewView }) {
  const texts = t().overview
  const isSpend = measured() === 'spend'
  // On a phone one of the two is shown at a time.
  const shown = useSignal<'model' | 'key'>('model')
  return (
    <Section
      title={texts.usage}
      text={view.days === '1' ? texts.byHour : texts.byDay}
      actions={
        <Segments
          label={texts.measure}
          options={[
            { value: 'spend', label: texts.spend },
            { value: 'requests', label: texts.count },
          ]}
          value={measured()}
          onChange={value => setQuery({ measure: value === 'spend' ? null : value })}
        />
      }
    >
      <div class="overview-which">
        <Segments
          label={texts.which}
          options={[
            { value: 'model', label: texts.byModel },
            { value: 'key', label: texts.byKey },
          ]}
          value={shown.value}
          onChange={value => (shown.value = value)}
        />
      </div>
      <div class={`overview-charts by-${shown.value}`}>
        <UsageChart title={isSpend ? texts.spendByModel : texts.requestsByModel} view={view} lines={view.by_model} />
        <UsageChart title={isSpend ? texts.spendByKey : texts.requestsByKey} view={view} lines={view.by_key} />
      </div>
    </Section>
  )
}

interface UsageChartProps {
  readonly title: string
  readonly view: OverviewView
  readonly lines: readonly SeriesView[]
}

function UsageChart({ title, view: { days, times }, lines }: UsageChartProps) {
  const measure = measured()
  // An answer with the same numbers as the last one must not draw the chart again.
  const numbers = JSON.stringify([times, lines])
  const drawn = useMemo(
    () => ({ times, series: lines.filter(line => isWorthIt(line, measure)).map(line => seriesOf(line, measure)) }),
    [numbers, measure, language.value],
  )
  return (
    <Card>
      <Chart
        title={title}
        summary={summaryOf(lines, measure, days)}
        times={drawn.times}
        series={drawn.series}
        unit={days === '1' ? 'hour' : 'day'}
        measure={measure === 'spend' ? 'money' : 'count'}
      />
    </Card>
  )
}

const OTHER = 'other'

const labelOf = ({ id, name }: SeriesView) => (id === OTHER ? t().overview.other : name)

/** All others are a line of their own only where they add something. */
const isWorthIt = (line: SeriesView, measure: Measure): boolean =>
  line.id !== OTHER || !isZero(measure === 'spend' ? line.total : String(countOf(line)))

const seriesOf = (line: SeriesView, measure: Measure): ChartSeries => ({
  id: line.id,
  label: labelOf(line),
  values: measure === 'spend' ? line.cost : line.requests,
})

function summaryOf(lines: readonly SeriesView[], measure: Measure, days: OverviewView['days']): string {
  const texts = t().overview
  const range = texts.inRange[days]
  const [first] = lines
  if (!first) return texts.nothingInRange(range)
  if (measure === 'requests') {
    const count = lines.map(countOf).reduce((sum, part) => sum + part)
    const most = lines.reduce((a, b) => (countOf(b) > countOf(a) ? b : a))
    return texts.summary(texts.requests(count, number(count)), range, labelOf(most), number(countOf(most)))
  }
  const total = lines.map(line => line.total).reduce(add)
  if (isZero(total)) return texts.nothingInRange(range)
  return texts.summary(money(total), range, labelOf(first), money(first.total))
}

const countOf = ({ requests }: SeriesView): number => requests.reduce((sum, count) => sum + count, 0)
