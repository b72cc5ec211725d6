import { Abort } from '../../src/core/abort.ts'
import { type Failure, GatewayError } from '../../src/core/failure.ts'
import { callUpstream, type UpstreamReply } from '../../src/upstream/client.ts'
import { LAST_WORD } from './raw-upstream.ts'

/**
 * Makes calls that end in every way, with limits of an hour for all that is not tested, and then has nothing to do: a
 * timer, a socket or a reader that was left behind would keep this process alive.
 */
const [silent = '', stalling = '', cut = '', good = ''] = process.argv.slice(2)
const HOUR = 3_600_000
const PATIENT = { connectMs: HOUR, firstByteMs: HOUR, idleMs: HOUR, totalMs: HOUR }

const call = (url: string, limits: object = {}, abort = new Abort()): Promise<UpstreamReply> =>
  callUpstream({ url, headers: {}, body: `{"messages":${LAST_WORD}}`, timeouts: { ...PATIENT, ...limits }, abort })

const failureOf = async (calling: Promise<unknown>): Promise<Failure | undefined> =>
  calling.then(
    () => undefined,
    error => (error instanceof GatewayError ? error.failure : undefined),
  )

const phaseOf = (failure: Failure | undefined): string | undefined =>
  failure?.kind === 'upstream-timeout' ? failure.phase : failure?.kind

const stalled = phaseOf(await failureOf(call(stalling, { idleMs: 100 }).then(reply => reply.text())))
const unheard = phaseOf(await failureOf(call(silent, { firstByteMs: 100 })))

const abort = new Abort()
setTimeout(() => abort.abort(new GatewayError({ kind: 'client-gone' })), 100)
const gone = (await failureOf(call(silent, {}, abort)))?.kind === 'client-gone' ? 'called off' : 'not called off'

const dropped = await call(stalling)
await dropped.next()
dropped.cancel()

// One that is called off by somebody who knows nothing of the reply.
const left = new Abort()
await (await call(stalling, {}, left)).next()
left.abort()

// One that breaks, and is not called off by anybody.
const broken = await failureOf(call(cut).then(reply => reply.text()))

const whole = await (await call(good)).text()
console.log([stalled, unheard, gone, 'dropped', broken?.kind, whole === '{"a":1}' ? 'answered' : whole].join(', '))
