import { vendorError } from '../../support/vendor.ts'
import { error, type Fault, failing, LINE_ENDS, onRequest, patienceOf, stepOf } from './fault.ts'
import type { Outcome } from './outcome.ts'
import { bytesOf, head, message, promising, write } from './script.ts'
import type { Sending } from './sending.ts'

const CALLERS_FAULTS = [400, 404, 413, 422]
const KEYS_FAULTS = [401, 402, 403]
const OWN_FAULTS = [204, 302, 408, 409, 418, 500, 502, 503, 504, 529]
/** One of each sort. */
const SAMPLES = [400, 401, 429, 500]

const RETRY_AFTER = '7'
const RETRYING = `retry-after: ${RETRY_AFTER}`

/** Addresses and keys are the vendor's own business. */
export const VENDOR_SECRETS = ['vendor.example', 'sk-vendor-0123456789abcdef']
const VENDOR_MESSAGE = 'what you sent is wrong, see https://vendor.example/errors?key=sk-vendor-0123456789abcdef'

const PAGE = '<html><body>Oh no</body></html>'

/** Every status that says no, explained as its vendor does, or by a page of somebody between, or not at all. */
export function refusals({ upstream }: Sending): readonly Fault[] {
  const inJson = JSON.stringify(vendorError(upstream, VENDOR_MESSAGE))
  const named = (status: number): Fault => refusal(status, `answers ${status}`, inJson)
  return [
    ...[...CALLERS_FAULTS, ...KEYS_FAULTS, ...OWN_FAULTS, 429].map(named),
    ...[429, 503].map(status => rested(refusal(status, `answers ${status} for a while`, inJson, [RETRYING]))),
    ...SAMPLES.map(status => aside(refusal(status, `answers ${status} with a page`, PAGE))),
    ...SAMPLES.map(status => aside(refusal(status, `answers ${status} with nothing`, ''))),
    ...SAMPLES.flatMap(status => brokenRefusals(status, inJson)),
    ...SAMPLES.map(status => earlyRefusal(status, inJson)),
  ]
}

function refusal(status: number, name: string, body: string, more: readonly string[] = []): Fault {
  const type = body.startsWith('{') ? 'application/json' : 'text/html'
  const given = { status, type, headers: status === 302 ? [...more, 'location: /elsewhere'] : more }
  // By the rules of HTTP nothing follows this one, whatever it promises.
  const script = onRequest(...message(status === 204 ? '' : body, given))
  const fault = failing({ name, stage: 'after the request', script }, verdictOn(status, more))
  return { ...fault, after: afterwards(status) }
}

/** Nobody has to read a request to its end to refuse it; but nothing else can come this way then. */
function earlyRefusal(status: number, body: string): Fault {
  const framing = promising(Buffer.byteLength(body))
  const answer = head(framing, { status, type: 'application/json', headers: ['connection: close'] }) + body
  const script = {
    begins: 'at the head',
    steps: [write(answer), { do: 'wait for the caller' }, { do: 'reset' }],
  } as const
  const happening = { name: `answers ${status}`, stage: 'after the request headers', script } as const
  return aside({ ...failing(happening, verdictOn(status)), after: afterwards(status), isLongRequest: true })
}

/** Whoever has said no has said it, even if the explanation does not come. */
const brokenRefusals = (status: number, explanation: string): readonly Fault[] =>
  LINE_ENDS.map(end => {
    const body = bytesOf(explanation)
    const begun = head(promising(body.byteLength), { status, type: 'application/json' })
    const script = onRequest(write(begun), write(body.subarray(0, 20)), stepOf(end))
    const happening = { name: `answers ${status} and ${end}`, stage: 'in the content', script } as const
    return aside({ ...failing(happening, verdictOn(status), patienceOf(end)), after: afterwards(status) })
  })

function verdictOn(status: number, more: readonly string[] = []): Outcome {
  if (CALLERS_FAULTS.includes(status)) return error('upstream_invalid_request')
  if (KEYS_FAULTS.includes(status)) return error('upstream_auth_failed')
  if (status !== 429) return error('upstream_error')
  const code = 'upstream_rate_limited'
  return { sees: 'an error', code, ...(more.includes(RETRYING) && { retryAfter: RETRY_AFTER }) }
}

/** Of a limit without a time nobody knows when it is over. */
function afterwards(status: number): Fault['after'] {
  if (KEYS_FAULTS.includes(status)) return 'rests'
  return status === 429 ? 'works or rests' : 'works'
}

const rested = (fault: Fault): Fault => ({ ...fault, after: 'rests' })

const aside = (fault: Fault): Fault => ({ ...fault, isAside: true })
