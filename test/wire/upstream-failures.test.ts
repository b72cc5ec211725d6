import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Duet, startDuet } from '../support/duet.ts'
import { type Answer, framesOf, post } from '../support/http.ts'
import {
  configForBoth,
  eventStream,
  resetUpstream,
  type ScriptedUpstream,
  scriptUpstream,
  type UpstreamVisit,
  VENDOR_KEY,
  VENDOR_MODEL,
} from '../support/upstream.ts'
import { chatFrame, messagesFrame, openingFrames, protocolOf, vendorBody, vendorError } from '../support/vendor.ts'
import {
  ask,
  brokenEnd,
  expectError,
  expectErrorObject,
  idOf,
  PAIRS,
  type ProtocolName,
  streamedText,
  type WantedError,
} from '../support/wire.ts'

/** One Duet on the sandbox and its directives, one on a vendor whose answers are scripted here. */
let duet: Duet
let relayed: Duet
let upstream: ScriptedUpstream
let script: (visit: UpstreamVisit) => Response | Promise<Response>

/** Long enough for what answers at once, and no test waits long for what does not. */
const TIMEOUTS = '    timeout: { connect: 400ms, first_byte: 400ms, idle: 400ms }'

beforeAll(async () => {
  upstream = scriptUpstream(visit => script(visit))
  duet = await startDuet()
  relayed = await startDuet({ config: configForBoth(upstream.base, { channel: TIMEOUTS }) })
})
afterAll(async () => {
  await Promise.all([duet.stop(), relayed.stop()])
  await upstream.stop()
})

const PAIRS_BOTH_WAYS = PAIRS.flatMap(pair =>
  [false, true].map(stream => ({ ...pair, stream, how: `${pair.title}${stream ? ', streamed' : ''}` })),
)

type Row = (typeof PAIRS_BOTH_WAYS)[number]

const askSandbox = ({ protocol, path, model, stream }: Row, content: string) =>
  post(duet, path, ask(protocol, model, content, { stream }))

const askOf = (target: Duet, { protocol, path, upstream: speaks, stream }: Row) =>
  post(target, path, ask(protocol, `acme/${speaks}`, 'Hi', { stream }))

const askVendor = (row: Row) => askOf(relayed, row)

/** Every pair, through a Duet of their own on another upstream. */
async function askAllOver(base: string): Promise<Answer[]> {
  const other = await startDuet({ config: configForBoth(base) })
  try {
    return await Promise.all(PAIRS_BOTH_WAYS.map(row => askOf(other, row)))
  } finally {
    await other.stop()
  }
}

const protocolAt = (place: number) => ({ protocol: PAIRS_BOTH_WAYS[place]?.protocol ?? 'chat' })

const AUTH: WantedError = { status: 502, code: 'upstream_auth_failed' }
const FAILED: WantedError = { status: 502, code: 'upstream_error' }
const SILENT: WantedError = { status: 504, code: 'upstream_timeout' }
const DOWN: WantedError = { status: 503, code: 'upstream_unavailable' }
const LIMITED: WantedError = { status: 429, code: 'upstream_rate_limited' }
const REFUSED: WantedError = { status: 400, code: 'upstream_invalid_request' }

const VERDICTS: readonly (readonly [vendor: number, ours: WantedError])[] = [
  [400, REFUSED],
  [401, AUTH],
  [402, AUTH],
  [403, AUTH],
  [404, REFUSED],
  [413, REFUSED],
  [422, REFUSED],
  [429, LIMITED],
  [500, FAILED],
  [502, FAILED],
  [503, FAILED],
  [504, FAILED],
  [529, FAILED],
]

describe("Upstream failures: a vendor's status before the first byte", () => {
  for (const row of PAIRS_BOTH_WAYS) {
    for (const [status, wanted] of VERDICTS) {
      test(`Upstream failures: ${status} becomes ${wanted.status} ${wanted.code}: ${row.how}`, async () => {
        const answer = await askSandbox(row, `Hi [[error ${status}]]`)
        expectError(answer, { ...wanted, protocol: row.protocol })
        expect(answer.headers.has('retry-after')).toBe(status === 429)
      })
    }

    test(`Upstream failures: a status without a JSON body becomes the same: ${row.how}`, async () => {
      for (const [status, wanted] of VERDICTS) {
        script = () => new Response('<html>nginx</html>', { status, headers: { 'content-type': 'text/html' } })
        const answer = await askVendor(row)
        expectError(answer, { ...wanted, protocol: row.protocol })
        expect(answer.text).not.toContain('nginx')
      }
    })

    test(`Upstream failures: the retry-after of a 429 is passed on: ${row.how}`, async () => {
      script = visit =>
        Response.json(vendorError(protocolOf(visit), 'Slow down'), { status: 429, headers: { 'retry-after': '17' } })
      const answer = await askVendor(row)
      expectError(answer, { ...LIMITED, protocol: row.protocol })
      expect(answer.headers.get('retry-after')).toBe('17')
    })

    test(`Upstream failures: a 429 without retry-after gets one: ${row.how}`, async () => {
      script = visit => Response.json(vendorError(protocolOf(visit), 'Slow down'), { status: 429 })
      const answer = await askVendor(row)
      expectError(answer, { ...LIMITED, protocol: row.protocol })
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    })

    test(`Upstream failures: what the vendor refuses is said in the vendor's words: ${row.how}`, async () => {
      for (const status of [400, 404, 413, 422]) {
        script = visit => Response.json(vendorError(protocolOf(visit), 'temperature: too hot'), { status })
        expectError(await askVendor(row), { ...REFUSED, message: 'temperature: too hot', protocol: row.protocol })
      }
    })
  }
})

/** Answers that are none, before anything of them could be passed on. */
const MALFORMED: readonly { what: string; answer: (protocol: ProtocolName) => Response }[] = [
  { what: 'an empty body', answer: () => new Response('') },
  { what: 'HTML', answer: () => new Response('<html>Welcome</html>', { headers: { 'content-type': 'text/html' } }) },
  { what: 'half of a body', answer: protocol => new Response(JSON.stringify(vendorBody(protocol)).slice(0, -40)) },
  { what: 'JSON of another kind', answer: () => Response.json({ hello: 'world' }) },
  { what: 'a JSON array', answer: () => Response.json([]) },
  { what: 'an error with status 200', answer: protocol => Response.json(vendorError(protocol, 'Oops')) },
]

const MALFORMED_STREAMS: readonly { what: string; answer: (protocol: ProtocolName) => Response }[] = [
  { what: 'a stream without a frame', answer: () => eventStream([]) },
  { what: 'a stream of nothing but [DONE]', answer: () => eventStream(['data: [DONE]\n\n']) },
  { what: 'a stream that begins with garbage', answer: () => eventStream(['data: {"cho\n\n']) },
  { what: 'a stream that begins with an error', answer: protocol => eventStream([errorFrame(protocol)]) },
  { what: 'a stream that is reset at once', answer: () => eventStream([], 'reset') },
]

const errorFrame = (protocol: ProtocolName): string =>
  protocol === 'chat'
    ? `data: ${JSON.stringify({ error: { message: 'Overloaded', type: 'server_error', code: 503 } })}\n\n`
    : messagesFrame('error', { error: { type: 'overloaded_error', message: 'Overloaded' } })

describe('Upstream failures: malformed answers, resets and silence before the first byte', () => {
  for (const row of PAIRS_BOTH_WAYS) {
    for (const { what, answer } of [...MALFORMED, ...(row.stream ? MALFORMED_STREAMS : [])]) {
      test(`Upstream failures: ${what} is 502 upstream_error: ${row.how}`, async () => {
        script = visit => answer(protocolOf(visit))
        expectError(await askVendor(row), { ...FAILED, protocol: row.protocol })
      })
    }
  }

  test('Upstream failures: silence is 504 upstream_timeout, for every protocol and upstream, streamed or not', async () => {
    script = () => new Promise<Response>(() => {})
    const answers = await Promise.all(PAIRS_BOTH_WAYS.map(askVendor))
    for (const [place, answer] of answers.entries()) {
      expectError(answer, { ...SILENT, ...protocolAt(place) })
    }
  })

  for (const row of PAIRS_BOTH_WAYS.filter(({ stream }) => !stream)) {
    test(`Upstream failures: a body of garbage is 502 upstream_error: ${row.how}`, async () => {
      expectError(await askSandbox(row, 'Hi [[garbage]]'), { ...FAILED, protocol: row.protocol })
    })

    test(`Upstream failures: a body cut short is 502 upstream_error: ${row.how}`, async () => {
      expectError(await askSandbox(row, 'Hi [[cut 5]]'), { ...FAILED, protocol: row.protocol })
    })

    test(`Upstream failures: a body that never ends is 504 upstream_timeout: ${row.how}`, async () => {
      script = () => eventStream(['{"id":'], 'silence')
      expectError(await askVendor(row), { ...SILENT, protocol: row.protocol })
    })
  }

  test('Upstream failures: an upstream that hangs up is 502 upstream_error', async () => {
    const hangingUp = resetUpstream()
    const answers = await askAllOver(hangingUp.base)
    await hangingUp.stop()
    for (const [place, answer] of answers.entries()) expectError(answer, { ...FAILED, ...protocolAt(place) })
  })

  test('Upstream failures: no upstream at all is 502 upstream_error, or 503 once it counts as down', async () => {
    const gone = resetUpstream()
    await gone.stop()
    const answers = await askAllOver(gone.base)
    for (const [place, answer] of answers.entries()) {
      const isDown = answer.status === 503
      expectError(answer, { ...(isDown ? DOWN : FAILED), ...protocolAt(place) })
      expect(answer.headers.has('retry-after')).toBe(isDown)
    }
  })
})

const STREAMED = PAIRS_BOTH_WAYS.filter(({ stream }) => stream)

const GOOD_MORNING = 'Good morning'

/** Lets the vendor break off only when what it said before has reached the caller. */
async function askAndRead({ protocol, path, upstream: speaks }: Row, breakOff: () => void): Promise<Answer> {
  const response = await fetch(relayed.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${relayed.key}` },
    body: JSON.stringify(ask(protocol, `acme/${speaks}`, 'Hi', { stream: true })),
  })
  let text = ''
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    text += new TextDecoder().decode(chunk)
    if (streamedText(protocol, framesOf(text)) === GOOD_MORNING) breakOff()
  }
  return { status: response.status, headers: response.headers, text, body: undefined }
}

/** A vendor that says good morning, and then what is given. */
function askBreaking(row: Row, { rest, ending }: Break): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<void>()
  script = visit => {
    const protocol = protocolOf(visit)
    return eventStream([...openingFrames(protocol), promise, ...(rest?.(protocol) ?? [])], ending)
  }
  return askAndRead(row, resolve)
}

interface Break {
  readonly rest?: (protocol: ProtocolName) => readonly string[]
  readonly ending?: 'close' | 'silence' | 'reset'
}

/** After the first byte: what came is there, then the error frame, and nothing that looks like a normal end. */
function expectBroken({ protocol }: Row, answer: Answer, wanted: WantedError): void {
  expect(answer.status).toBe(200)
  expectErrorObject(brokenEnd(protocol, answer.text), idOf(answer), { type: 'duet_api_error', code: wanted.code ?? '' })
}

const BREAKS: readonly (Break & { what: string; wanted: WantedError })[] = [
  { what: 'a reset', wanted: FAILED, ending: 'reset' },
  { what: 'a clean end without an ending', wanted: FAILED },
  { what: 'silence', wanted: SILENT, ending: 'silence' },
  { what: 'half of a frame', wanted: FAILED, rest: () => ['data: {"choices":[{"del'] },
  { what: 'a frame of garbage', wanted: FAILED, rest: () => ['data: {"oops\n\n'] },
  { what: 'an error of the vendor', wanted: FAILED, rest: protocol => [errorFrame(protocol)] },
  { what: 'an end inside a tool call', wanted: FAILED, rest: protocol => CUT_CALL[protocol] },
]

const CUT_CALL: Record<ProtocolName, readonly string[]> = {
  chat: [
    chatFrame({
      delta: { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }] },
    }),
    chatFrame({ delta: { tool_calls: [{ index: 0, function: { arguments: '{"ci' } }] } }),
  ],
  messages: [
    messagesFrame('content_block_stop', { index: 0 }),
    messagesFrame('content_block_start', {
      index: 1,
      content_block: { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
    }),
    messagesFrame('content_block_delta', { index: 1, delta: { type: 'input_json_delta', partial_json: '{"ci' } }),
  ],
}

describe('Upstream failures: after the first byte there is no status left', () => {
  for (const row of STREAMED) {
    for (const { what, wanted, ...rest } of BREAKS) {
      test(`Upstream failures: ${what} is an error frame with ${wanted.code}: ${row.how}`, async () => {
        const answer = await askBreaking(row, rest)
        expectBroken(row, answer, wanted)
        expect(streamedText(row.protocol, framesOf(answer.text))).toBe(GOOD_MORNING)
      })
    }

    // A reset may overtake the bytes that were sent before it, so where the break is seen is up to the network.
    const expectBrokenSomewhere = (answer: Answer) => {
      if (answer.status === 200) expectBroken(row, answer, FAILED)
      else expectError(answer, { ...FAILED, protocol: row.protocol })
    }

    for (const directive of ['[[cut 5]]', '[[garbage]]']) {
      test(`Upstream failures: the sandbox's ${directive} is an error, before or after the first byte: ${row.how}`, async () => {
        expectBrokenSomewhere(await askSandbox(row, `Hi ${directive}`))
      })
    }

    test(`Upstream failures: include_usage does not make a broken stream end well: ${row.how}`, async () => {
      const more = { stream: true, stream_options: { include_usage: true } }
      const request = ask(row.protocol, row.model, 'Hi [[cut 5]]', row.protocol === 'chat' ? more : { stream: true })
      expectBrokenSomewhere(await post(duet, row.path, request))
    })
  }
})

/** What must not leak, and the words by which it would be found. */
const SECRETS: Readonly<Record<string, readonly string[]>> = {
  'its addresses': ['https://api.vendor.example/v1/chat?tenant=42', 'http://10.1.2.3:8080/internal'],
  'keys that look like keys': ['sk-live-0123456789abcdefghij', 'Bearer sk-proj-abcdefghij0123456789'],
  'the key of the channel, whatever it looks like': [VENDOR_KEY],
  'its name of the model': [VENDOR_MODEL],
  'its headers and ids': ['x-vendor-trace', 'org-of-the-vendor', 'req_vendor'],
}
const VENDOR_HEADERS = {
  'x-vendor-trace': 'org-of-the-vendor',
  'x-request-id': 'req_vendor',
  'request-id': 'req_vendor',
}
const COMPLAINT = `Not so: ${Object.values(SECRETS).flat().join(' and ')}, see the manual`

const leaksOf = ({ text, headers }: Answer, words: readonly string[]) => {
  const all = text + JSON.stringify([...headers])
  return words.flatMap(word => [word, word.replace(/^Bearer |^https?:\/\//, '')]).filter(word => all.includes(word))
}

const complain = (protocol: ProtocolName): readonly string[] => {
  const { error } = vendorError(protocol, COMPLAINT)
  return [protocol === 'chat' ? `data: ${JSON.stringify({ error })}\n\n` : messagesFrame('error', { error })]
}

describe("Upstream failures: nothing of the vendor's leaks", () => {
  for (const [what, words] of Object.entries(SECRETS)) {
    const isHeader = what === 'its headers and ids'

    for (const row of PAIRS_BOTH_WAYS) {
      test(`Upstream failures: no status leaks ${what}: ${row.how}`, async () => {
        for (const [status, wanted] of VERDICTS) {
          // What stands in headers does not stand in the message, which may be passed on.
          const message = isHeader ? 'Not so' : COMPLAINT
          script = visit => Response.json(vendorError(protocolOf(visit), message), { status, headers: VENDOR_HEADERS })
          const answer = await askVendor(row)
          expectError(answer, { ...wanted, protocol: row.protocol })
          expect({ status, leaks: leaksOf(answer, words) }).toEqual({ status, leaks: [] })
        }
      })
    }

    for (const row of isHeader ? [] : STREAMED) {
      test(`Upstream failures: an error inside a stream does not leak ${what}: ${row.how}`, async () => {
        const answer = await askBreaking(row, { rest: complain })
        brokenEnd(row.protocol, answer.text)
        expect(leaksOf(answer, words)).toEqual([])
      })
    }
  }

  for (const row of PAIRS_BOTH_WAYS) {
    test(`Upstream failures: the rest of the vendor's message stays: ${row.how}`, async () => {
      script = visit => Response.json(vendorError(protocolOf(visit), COMPLAINT), { status: 400 })
      const { message } = expectError(await askVendor(row), REFUSED)
      expect(message).toStartWith('Not so: ')
      expect(message).toContain(', see the manual (request id: ')
    })
  }
})
