/** Where something will be. Read out as nothing; `Load` says that something is loading. */
export function Skeleton({ width = '100%', height = '1em' }: { readonly width?: string; readonly height?: string }) {
  return <span class="skeleton" aria-hidden="true" style={{ inlineSize: width, blockSize: height }} />
}

const WIDTHS = ['62%', '48%', '71%', '55%', '40%', '66%', '52%', '58%']

export function SkeletonRows({ rows = 6 }: { readonly rows?: number }) {
  return (
    <div class="card skeleton-rows">
      {WIDTHS.slice(0, rows).map(width => (
        <div key={width}>
          <Skeleton width={width} />
          <Skeleton width="4rem" />
        </div>
      ))}
    </div>
  )
}

export function SkeletonStats({ count = 4 }: { readonly count?: number }) {
  return (
    <div class="stats">
      {WIDTHS.slice(0, count).map(width => (
        <div class="stat" key={width}>
          <Skeleton width="40%" />
          <Skeleton width={width} height="1.75rem" />
        </div>
      ))}
    </div>
  )
}
