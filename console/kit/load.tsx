import type { ComponentChildren } from 'preact'
import type { ApiError } from '../app/api.ts'
import { t } from '../app/language.ts'
import type { Resource } from '../app/resource.ts'
import { Button } from './button.tsx'
import { Empty } from './empty.tsx'
import { errorText } from './form.tsx'
import { SkeletonRows } from './skeleton.tsx'

interface LoadProps<T> {
  readonly resource: Resource<T>
  /** The shape of what will come. */
  readonly skeleton?: ComponentChildren
  readonly children: (data: T) => ComponentChildren
}

/** A skeleton first, then the data; old data stays while newer is on its way, and a failure says what to do. */
export function Load<T>({ resource, skeleton, children }: LoadProps<T>) {
  const { data, error, isLoading } = resource
  if (data !== undefined) {
    return (
      <div class="loaded" aria-busy={isLoading ? 'true' : undefined}>
        {error && <ErrorNote error={error} onRetry={resource.reload} />}
        {children(data)}
      </div>
    )
  }
  if (error) return <ErrorNote error={error} onRetry={resource.reload} />
  return (
    <div role="status" aria-label={t().common.loading}>
      {skeleton ?? <SkeletonRows />}
    </div>
  )
}

export function ErrorNote({ error, onRetry }: { readonly error: ApiError; readonly onRetry?: () => void }) {
  if (error.status === 404) return <Empty icon="search" title={t().errors.notFoundTitle} text={error.message} />
  return (
    <Empty
      icon="warning"
      title={error.code === 'unreachable' ? t().errors.unreachableTitle : t().errors.title}
      text={errorText(error)}
      {...(onRetry
        ? {
            action: (
              <Button icon="refresh" onClick={onRetry}>
                {t().common.retry}
              </Button>
            ),
          }
        : {})}
    />
  )
}
