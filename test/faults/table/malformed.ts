import { vendorError } from '../../support/vendor.ts'
import type { ProtocolName } from '../../support/wire.ts'
import { frames, wholeBody } from './answer.ts'
import { BODY_STAGES, error, type Fault, failing, onRequest, type Stage, sound } from './fault.ts'
import { isFree } from './lines.ts'
import { outcomeOf } from './outcome.ts'
import { bytesOf, chunked, message, type Step, statusLine, write } from './script.ts'
import { answering, delivered, framingOf, type Sending, sentAt } from './sending.ts'

/** Answers that are none: errors in place of frames and bodies, other shapes, other formats, no HTTP at all. */
export const malformed = (sending: Sending): readonly Fault[] => [
  ...(sending.stream ? badFrames(sending) : badBodies(sending)),
  ...noise(sending),
]

// ── frames ──────────────────────────────────────────────────────────────────────────────────────────────────────────

interface BadFrame {
  readonly name: string
  readonly frame: string
  /** Vendors send frames that nobody knows; only that nothing comes after this one is wrong. */
  readonly isLoud: boolean
}

const BAD_FRAMES: readonly BadFrame[] = [
  { name: 'sends a frame that is no JSON', frame: 'data: {"cho\n\n', isLoud: true },
  { name: 'sends a frame that is a list', frame: 'data: [1, 2, 3]\n\n', isLoud: true },
  { name: 'ends after a frame of another kind', frame: 'data: {"hello": "world"}\n\n', isLoud: false },
]

function badFrames(sending: Sending): readonly Fault[] {
  const { upstream } = sending
  const reported = { name: 'reports an error', frame: errorFrame(upstream), isLoud: true }
  const whole = onRequest(...message(wholeBody(upstream), { type: 'application/json' }))
  return [
    ...[reported, ...BAD_FRAMES].flatMap(bad => insteadOfFrame(bad, sending)),
    insteadOfBody('sends a page', PAGE, 'text/html'),
    insteadOfBody('sends a whole body as a stream', wholeBody(upstream), 'text/event-stream'),
    sound({ name: 'answers a stream with a whole body', stage: 'after the end', script: whole }),
  ]
}

const insteadOfFrame = ({ name, frame, isLoud }: BadFrame, sending: Sending): readonly Fault[] =>
  BODY_STAGES.flatMap(stage => {
    const sent = sentAt(stage, sending)
    if (!sent) return []
    const script = onRequest(...answering([...sent.pieces, bytesOf(frame)], sending), ...chunked.end)
    return failing({ name, stage, script }, outcomeOf(sent.progress, { code: 'upstream_error', isLoud }))
  })

function errorFrame(upstream: ProtocolName): string {
  const data = `data: ${JSON.stringify(vendorError(upstream, 'overloaded, and no word of this is output'))}\n\n`
  return upstream === 'chat' ? data : `event: error\n${data}`
}

// ── bodies ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const PAGE = '<!doctype html><html><body>Please sign in to this network</body></html>'

const badBodies = ({ upstream }: Sending): readonly Fault[] => [
  insteadOfBody('reports an error', JSON.stringify(vendorError(upstream, 'overloaded'))),
  insteadOfBody('sends a body that is no JSON', 'a moment please'),
  insteadOfBody('sends a body that is a list', '[1, 2, 3]'),
  insteadOfBody('sends a body that is null', 'null'),
  insteadOfBody('sends a body of another shape', '{"hello": "world"}'),
  insteadOfBody('sends a page', PAGE, 'text/html'),
  insteadOfBody('sends a stream for a body', frames(upstream).join(''), 'text/event-stream'),
]

const insteadOfBody = (name: string, body: string, type = 'application/json'): Fault =>
  failing({ name, stage: 'after the headers', script: onRequest(...message(body, { type })) }, error('upstream_error'))

// ── bytes that are no HTTP ──────────────────────────────────────────────────────────────────────────────────────────

const NOISE = new Uint8Array(512).map((_, place) => (place * 151 + 7) % 256)

const noise = (sending: Sending): readonly Fault[] => [
  noisyHead('after the request'),
  noisyHead('after the status line', write(statusLine(200))),
  ...BODY_STAGES.flatMap(stage => noisyBody(stage, sending) ?? []),
]

function noisyHead(stage: Stage, ...before: readonly Step[]): Fault {
  const script = onRequest(...before, write(NOISE), write('\r\n\r\n'), { do: 'close' })
  return failing({ name: 'makes noise', stage, script }, error('upstream_error'))
}

/** Where the size of a chunk should stand; or, after the last one, where nothing should. */
function noisyBody(stage: Stage, sending: Sending): Fault | undefined {
  const sent = sentAt(stage, sending)
  if (!sent) return undefined
  const isKept = isFree(stage, sending)
  const framing = isKept ? framingOf(sending) : chunked
  const before = delivered(answering(sent.pieces, sending, framing), sent.progress)
  const ending: readonly Step[] = isKept ? framing.end : [{ do: 'close' }]
  const script = onRequest(...before, write('no size\r\n'), write(NOISE), ...ending)
  const outcome = outcomeOf(sent.progress, { code: 'upstream_error' })
  return { ...failing({ name: 'makes noise', stage, script }, outcome), spoils: isKept }
}
