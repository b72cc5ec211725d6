import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { InviteView, SessionView } from '../../../src/admin/contract.ts'
import { type ApiError, api } from '../../app/api.ts'
import { Gate } from '../../app/gate.tsx'
import { t } from '../../app/language.ts'
import { asApiError } from '../../app/resource.ts'
import { ErrorNote, PageHeader, Skeleton } from '../../kit/index.ts'
import { Accept } from './accept.tsx'
import { Gone, Missing } from './gone.tsx'

/**
 * The token of a link, which stands behind `#` so that no server or log ever sees it. It is taken out of the address
 * bar at once: neither the history of the browser nor somebody who looks over a shoulder should have it.
 */
let token = takeToken()

function takeToken(): string {
  const found = location.hash.slice(1)
  if (found !== '') history.replaceState(null, '', location.pathname)
  return found
}

type State = 'opening' | 'gone' | { readonly error: ApiError } | { readonly invite: InviteView }

export function Page() {
  const state = useSignal<State>('opening')
  const open = async () => {
    state.value = 'opening'
    try {
      state.value = { invite: await api.post<InviteView>('/invites/open', { token }) }
    } catch (thrown) {
      const error = asApiError(thrown)
      state.value = error.status === 404 || error.status === 422 ? 'gone' : { error }
    }
  }
  useEffect(() => {
    const again = () => {
      token = takeToken() || token
      open()
    }
    if (token === '') state.value = 'gone'
    else open()
    addEventListener('hashchange', again)
    return () => removeEventListener('hashchange', again)
  }, [])
  return <Gate>{draw(state.value, open)}</Gate>
}

function draw(state: State, retry: () => void) {
  if (state === 'opening') return <Opening />
  if (state === 'gone') return token === '' ? <Missing /> : <Gone />
  if ('error' in state) return <ErrorNote error={state.error} onRetry={retry} />
  const accept = (wanted: { readonly name?: string; readonly password: string }) =>
    api.post<SessionView>('/invites/accept', { token, ...wanted })
  return <Accept invite={state.invite} accept={accept} />
}

function Opening() {
  return (
    <div role="status" aria-label={t().common.loading} class="stack">
      <PageHeader title={t().welcome.firstTitle} />
      <Skeleton width="80%" />
      <Skeleton height="2.25rem" />
      <Skeleton height="2.25rem" />
    </div>
  )
}
