import { signal } from '@preact/signals'
import { Component, type ComponentChildren, type ComponentType, createElement } from 'preact'
import { useEffect } from 'preact/hooks'
import { Button, LinkButton } from '../kit/button.tsx'
import { Empty } from '../kit/empty.tsx'
import { ErrorNote } from '../kit/load.tsx'
import { PageHeader } from '../kit/page.tsx'
import { SkeletonRows } from '../kit/skeleton.tsx'
import { ApiError, api } from './api.ts'
import { useEvent } from './events.ts'
import { loadTexts, t } from './language.ts'
import { href, place } from './router.ts'
import { type PageProps, ROUTES, type Route } from './routes.ts'
import { isAdmin } from './session.ts'

type Loaded = ComponentType<PageProps> | 'failed' | 'unreachable'

const loaded = signal<ReadonlyMap<Route, Loaded>>(new Map())

/** Pages are fetched once; calling it early makes a later visit quick. */
export async function loadPage(route: Route): Promise<void> {
  const known = loaded.peek().get(route)
  if (typeof known === 'function') return
  const page = await Promise.all([route.load(), loadTexts(route.texts)]).then(([{ Page }]) => Page, whyFailed)
  loaded.value = new Map([...loaded.peek(), [route, page]])
}

/** A browser does not say why it could not load a file. */
const whyFailed = (): Promise<'failed' | 'unreachable'> =>
  api.get('/session').then(
    () => 'failed',
    error => (error instanceof ApiError && error.code === 'unreachable' ? 'unreachable' : 'failed'),
  )

export function currentRoute(): Route | undefined {
  const { page, rest } = place.value
  const route = Object.hasOwn(ROUTES, page) ? ROUTES[page] : undefined
  return route && rest.length <= route.restMax ? route : undefined
}

/** The page that the address names. */
export function Outlet() {
  const route = currentRoute()
  const page = route && loaded.value.get(route)
  useEffect(() => {
    if (route && !page) loadPage(route)
  }, [route, page])
  if (!route || (route.isForAdmins && !isAdmin.value)) return <NotFound />
  if (page === undefined) return <SkeletonRows />
  if (page === 'failed') return <LoadFailed />
  if (page === 'unreachable') return <Unreachable route={route} />
  return (
    <Boundary key={place.value.page}>{createElement(page, { key: place.value.page, rest: place.value.rest })}</Boundary>
  )
}

export function NotFound() {
  return (
    <>
      <PageHeader title={t().errors.notFoundTitle} />
      <Empty
        icon="search"
        title={t().errors.noPage}
        text={t().errors.noPageText}
        action={<LinkButton href={href('/')}>{t().nav.overview}</LinkButton>}
      />
    </>
  )
}

/** A fault of one page must not take the frame and its menu with it. */
class Boundary extends Component<{ readonly children: ComponentChildren }, { readonly isBroken: boolean }> {
  override state = { isBroken: false }

  override componentDidCatch(error: unknown): void {
    console.error(error)
    this.setState({ isBroken: true })
  }

  override render() {
    return this.state.isBroken ? <LoadFailed /> : this.props.children
  }
}

/** Tries again by itself once the server is back. */
function Unreachable({ route }: { readonly route: Route }) {
  useEvent('hello', () => loadPage(route))
  return <ErrorNote error={NO_ANSWER} onRetry={() => loadPage(route)} />
}

const NO_ANSWER = new ApiError({ status: 0, code: 'unreachable', message: 'unreachable' })

/** A console that was updated under us has other files now. */
function LoadFailed() {
  return (
    <Empty
      icon="warning"
      title={t().errors.pageFailed}
      text={t().errors.pageFailedText}
      action={<Button onClick={() => location.reload()}>{t().common.reload}</Button>}
    />
  )
}
