import type { AdminReply } from '../admin/route.ts'

/** What the browser keeps of a session. Scripts cannot read it, other sites do not get it sent, callers of models never see it. */
const COOKIE = 'duet_session'
const SCOPE = 'Path=/api; HttpOnly; SameSite=Strict'

export function sessionOf(headers: Headers): string | undefined {
  const cookies = headers.get('cookie')?.split(';') ?? []
  const found = cookies.map(cookie => cookie.trim()).find(cookie => cookie.startsWith(`${COOKIE}=`))
  return found?.slice(COOKIE.length + 1) || undefined
}

export function cookieFor(session: NonNullable<AdminReply['session']>, isSecure: boolean): string {
  const secure = isSecure ? '; Secure' : ''
  return session === 'ended'
    ? `${COOKIE}=; Max-Age=0; ${SCOPE}${secure}`
    : `${COOKIE}=${session.token}; Max-Age=${session.seconds}; ${SCOPE}${secure}`
}

/** A cookie marked so is never sent in clear; one that is not would be lost where a proxy takes off the encryption. */
export const isSecure = (headers: Headers, publicUrl: string): boolean =>
  publicUrl.startsWith('https:') || /^\s*https\b/i.test(headers.get('x-forwarded-proto') ?? '')

/**
 * Whether the console itself asks. Pages of other sites cannot set a header of their own without asking first, which is
 * never granted; browsers say besides where a request comes from.
 */
export function isFromConsole(headers: Headers, publicUrl: string): boolean {
  if (headers.get('x-duet-console') !== '1') return false
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  const origin = headers.get('origin')
  return origin === null || origin === publicUrl || hostOf(origin) === headers.get('host')
}

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined)
