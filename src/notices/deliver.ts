import type { Delivered, NoticeTarget } from '../core/notices.ts'

/** A webhook that needs longer has more to do than to take a note. */
export const DELIVERY_MS_MAX = 10_000
const OK_MIN = 200
const OK_MAX = 299

export interface DeliveryLimits {
  readonly msMax: number
  /** Nobody waits for it any more. */
  readonly stopping: AbortSignal
}

/** Sends one message; never throws. What is said about a failure does not repeat the address, which may have a token. */
export async function deliver(target: NoticeTarget, message: unknown, limits: DeliveryLimits): Promise<Delivered> {
  const body = JSON.stringify(message)
  const timeout = AbortSignal.timeout(limits.msMax)
  try {
    const response = await fetch(target.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'duet',
        'x-duet-signature': `sha256=${new Bun.CryptoHasher('sha256', target.secret).update(body).digest('hex')}`,
      },
      body,
      signal: AbortSignal.any([timeout, limits.stopping]),
      // It would carry the message to an address that nobody wrote down.
      redirect: 'manual',
    })
    // Whatever it says beyond its status is not read, however long it is.
    response.body?.cancel().catch(() => {})
    const { status } = response
    return { status, error: status >= OK_MIN && status <= OK_MAX ? undefined : `answered with status ${status}` }
  } catch (error) {
    return { status: undefined, error: timeout.aborted ? 'no answer in time' : problemOf(error) }
  }
}

function problemOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? `no connection (${code})` : 'no connection'
}
