import type { Run } from './command.ts'
import { unhealthy, wrongUsage } from './failure.ts'
import { findServer } from './server.ts'

/** Whoever asks, asks again in seconds. */
const ANSWER_MS_MAX = 4_000
/** Many times what a health check says. */
const SHOWN_CHARACTERS_MAX = 200

const QUESTIONS: Readonly<Record<string, string>> = { ready: 'it takes calls', live: 'it runs' }

/** For images that have neither a shell nor curl: the same question that a load balancer asks. Needs no token. */
export const health: Run = async (given, { env, out }) => {
  const what = given.maybe('what') ?? 'ready'
  const yes = Object.hasOwn(QUESTIONS, what) ? QUESTIONS[what] : undefined
  if (yes === undefined) throw wrongUsage(`<what>: must be ready or live, not "${what}"`)
  const url = `${findServer(env).base}/health/${what}`
  const { status, text } = await ask(url)
  if (status !== 200 || !isOk(text)) throw unhealthy(`${url} answered ${status}: ${shown(text)}`)
  out.result({ json: { status: 'ok' }, text: () => yes })
}

async function ask(url: string): Promise<{ readonly status: number; readonly text: string }> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX), redirect: 'manual' })
    return { status: response.status, text: await response.text() }
  } catch (error) {
    const reason = error instanceof Error ? ('code' in error && error.code) || error.message : error
    throw unhealthy(`${url} does not answer (${reason})`)
  }
}

/** Something else may have the port, and answer everything with 200. */
function isOk(text: string): boolean {
  try {
    return JSON.parse(text)?.status === 'ok'
  } catch {
    return false
  }
}

const shown = (text: string): string => text.slice(0, SHOWN_CHARACTERS_MAX).replaceAll(/\s+/g, ' ').trim()
