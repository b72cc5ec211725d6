import { ErrorNote } from '../kit/load.tsx'
import { Layout } from './layout.tsx'
import { Outlet } from './outlet.tsx'
import { path } from './router.ts'
import { isOpenPage, loadSession, session, sessionError } from './session.ts'
import { ToastHost } from './toasts.tsx'

export function App() {
  if (isOpenPage(path.value)) {
    return (
      <>
        <Outlet />
        <ToastHost />
      </>
    )
  }
  if (sessionError.value) {
    return (
      <main class="lonely">
        <ErrorNote error={sessionError.value} onRetry={loadSession} />
      </main>
    )
  }
  return session.value ? <Layout /> : <div class="lonely" aria-busy="true" />
}
