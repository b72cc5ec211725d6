import { ADMIN_TOKEN, type Duet } from './duet.ts'
import { type Frame, framesOf } from './http.ts'
import type { Person } from './people.ts'

/** Somebody who listens to what happens. */
export interface Listening {
  readonly status: number
  readonly headers: Headers
  /** The next events, up to the first that is like this. */
  until(isIt: (event: Frame) => boolean): Promise<Frame[]>
  /** Resolves when the other side has ended it, whatever is said until then. */
  ended(): Promise<void>
  leave(): Promise<void>
}

/** As somebody who is signed in, or with the admin token. */
export async function listen(duet: Duet, path: string, who?: Person): Promise<Listening> {
  const leaving = new AbortController()
  const headers: Record<string, string> = who ? { cookie: who.cookie } : { authorization: `Bearer ${ADMIN_TOKEN}` }
  const response = await fetch(duet.url + path, { headers, signal: leaving.signal })
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  return {
    status: response.status,
    headers: response.headers,
    async until(isIt) {
      const seen: Frame[] = []
      for (;;) {
        const end = text.indexOf('\n\n')
        if (end >= 0) {
          const [event] = framesOf(text.slice(0, end + 2))
          text = text.slice(end + 2)
          if (event) seen.push(event)
          if (event && isIt(event)) return seen
          continue
        }
        const { value } = (await reader?.read()) ?? {}
        if (!value) throw new Error(`the stream ended after ${JSON.stringify(seen)}`)
        text += decoder.decode(value, { stream: true })
      }
    },
    async ended() {
      while (!(await reader?.read())?.done);
    },
    async leave() {
      leaving.abort()
      await reader?.cancel().catch(() => {})
    },
  }
}
