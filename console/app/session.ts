import { computed, signal } from '@preact/signals'
import type { AccountView, SessionView } from '../../src/admin/contract.ts'
import { ApiError, api, whenSignedOut } from './api.ts'
import { onEvent, startEvents, stopEvents } from './events.ts'
import { go, path, query } from './router.ts'

/** Undefined until the server has said it, null for nobody. */
export const session = signal<SessionView | null | undefined>(undefined)

/** Set when the server could not even say who we are. */
export const sessionError = signal<ApiError | undefined>(undefined)

export const isAdmin = computed(() => session.value?.role === 'admin')

/** Our own account; null for the admin token, which has none. */
export const account = computed(() => session.value?.account ?? null)

/** Those that can be looked at. */
export const accounts = computed(() => session.value?.accounts ?? [])

const OPEN_PAGES = ['/sign-in', '/welcome']

export const isOpenPage = (path: string) => OPEN_PAGES.includes(path)

export async function loadSession(): Promise<void> {
  sessionError.value = undefined
  try {
    enter(await api.get<SessionView>('/session'))
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return
    sessionError.value =
      error instanceof ApiError ? error : new ApiError({ status: 0, code: 'internal', message: String(error) })
  }
}

export function enter(view: SessionView): void {
  session.value = view
  startEvents()
}

export async function signOut(): Promise<void> {
  await api.delete('/session').catch(() => undefined)
  leave()
  go('/sign-in', { replace: true })
}

function leave(): void {
  session.value = null
  stopEvents()
}

/** Signs in again and comes back here. */
whenSignedOut(() => {
  leave()
  if (isOpenPage(path.value)) return
  const here = path.value + (query.value.size > 0 ? `?${query.value}` : '')
  go('/sign-in', { query: { next: here === '/' ? null : here }, replace: true })
})

/** Where to go after signing in. Only into the console: an address from elsewhere could lead anywhere. */
export function nextPath(): string {
  const next = query.value.get('next') ?? '/'
  return /^\/(?![/\\])/.test(next) && !isOpenPage(next.split('?')[0] ?? '') ? next : '/'
}

/** Pages that changed our account's money tell it here, so that the balance in the frame is right at once. */
export function accountChanged(changed: AccountView): void {
  const { value } = session
  if (value?.account?.id === changed.id) session.value = { ...value, account: changed }
}

onEvent('usage', ({ accounts: changed }) => {
  for (const account of changed) {
    accountChanged(account)
    noteAccount(account)
  }
})

/** Accounts are also made while we look. */
function noteAccount({ id, name }: AccountView): void {
  const { value } = session
  if (!value || value.accounts.some(known => known.id === id)) return
  session.value = { ...value, accounts: [...value.accounts, { id, name }] }
}
