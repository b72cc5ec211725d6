import type { Abort } from '../../core/abort.ts'
import { type Asked, Call, type Incoming, type Said } from './call.ts'
import { FetchedCall } from './fetched.ts'
import { targetOf } from './origin.ts'
import { unpacked } from './unpacked.ts'

/** A request, for whoever does not care how it gets there. */
export interface Asking extends Pick<Asked, 'headers' | 'body'> {
  readonly url: string
  readonly abort: Abort
  /** The connection is there. */
  connected(): void
}

/** An answer that has begun. */
export interface Answer {
  readonly head: Said
  readonly body: Incoming
}

const PROXIES = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY']
/** The runtime's client goes through proxies, and knows whom they are not for. */
const IS_PROXIED = PROXIES.some(name => process.env[name])

/** Sends a request, and waits for its answer to begin. Rejects when it is called off. */
export function ask({ url, headers, body, abort, connected }: Asking): Promise<Answer> {
  return new Promise((resolve, reject) => {
    if (abort.isAborted) throw abort.reason
    const call: Incoming = new (IS_PROXIED ? FetchedCall : Call)({
      target: targetOf(url),
      headers,
      body,
      connected,
      answered: head => resolve({ head, body: unpacked(call, head.get('content-encoding')) }),
      failed: reject,
    })
    cancelWith(abort, call)
  })
}

/** Apart, so that what waits for the abort, as long as an answer lasts, refers to no request. */
function cancelWith(abort: Abort, call: Incoming): void {
  abort.onAbort(() => call.cancel())
}
