import { t } from '../../app/language.ts'
import { setQuery } from '../../app/router.ts'
import { AccountSelect, Load, PageHeader, Segments, Skeleton, SkeletonRows, SkeletonStats } from '../../kit/index.ts'
import { Alerts } from './alerts.tsx'
import { MoneyNumbers, SpeedNumbers } from './numbers.tsx'
import { RANGES, range, useOverview } from './overview.ts'
import { Recent } from './recent.tsx'
import { FirstSteps } from './steps.tsx'
import { Usage } from './usage.tsx'

export function Page() {
  const overview = useOverview()
  return (
    <>
      <PageHeader
        title={t().nav.overview}
        actions={
          <>
            <AccountSelect />
            <RangeSwitch />
          </>
        }
      />
      <Load resource={overview} skeleton={<OverviewSkeleton />}>
        {view => (
          <div class="overview">
            <FirstSteps view={view} />
            <Alerts view={view} />
            <MoneyNumbers view={view} />
            <Usage view={view} />
            <SpeedNumbers view={view} />
            <Recent rows={view.recent} />
          </div>
        )}
      </Load>
    </>
  )
}

function RangeSwitch() {
  const texts = t().overview
  return (
    <Segments
      label={texts.range}
      options={RANGES.map(value => ({ value, label: texts.ranges[value] }))}
      value={range()}
      onChange={value => setQuery({ days: value === '7' ? null : value })}
    />
  )
}

/** As high as what comes, so that nothing jumps. */
function OverviewSkeleton() {
  return (
    <div class="overview">
      <SkeletonStats />
      <div class="overview-charts">
        <div class="card padded">
          <Skeleton height="17rem" />
        </div>
        <div class="card padded">
          <Skeleton height="17rem" />
        </div>
      </div>
      <SkeletonStats />
      <SkeletonRows rows={5} />
    </div>
  )
}
