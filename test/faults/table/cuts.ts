import { frames, type Landmark, NO_PROGRESS, placeOf, WHOLE_PROGRESS, wholeBody } from './answer.ts'
import { error, type Fault, failing, mishapOf, onRequest, patienceOf, type Stage, stepOf } from './fault.ts'
import { outcomeOf } from './outcome.ts'
import { bytesOf, chunked, promising } from './script.ts'
import { allOf, answering, delivered, framesTo, framingOf, halfOf, lengthOf, type Sending } from './sending.ts'

/** Answers that are cut in the middle of something, and lengths that are not true. */
export const cuts = (sending: Sending): readonly Fault[] => [
  ...CUT_ENDS.flatMap(end => (sending.stream ? cutStreams(end, sending) : cutBodies(end, sending))),
  ...promisesMore(sending),
  sendsMore(sending),
]

const CUT_ENDS = ['ends', 'hangs up'] as const
type CutEnd = (typeof CUT_ENDS)[number]

// ── frames and bodies ───────────────────────────────────────────────────────────────────────────────────────────────

/** How much of a frame is sent; undefined where there is nothing of the kind in it. */
type Cut = (frame: Uint8Array) => number | undefined

const inCharacter: Cut = bytes => {
  const place = bytes.findIndex(byte => byte >= 0x80)
  return place < 0 ? undefined : place + 1
}

const CUTS: Readonly<Record<string, Cut>> = {
  'in a field name': () => 2,
  'in the JSON': frame => Math.floor(frame.byteLength * 0.6),
  'in a character': inCharacter,
  'before the blank line': frame => frame.byteLength - 1,
}

interface CutFrame {
  readonly name: string
  readonly landmark: Landmark
  readonly stage: Stage
}

const CUT_FRAMES: readonly CutFrame[] = [
  { name: 'the first frame', landmark: 'first frame', stage: 'after the headers' },
  { name: 'the text', landmark: 'first text', stage: 'in the content' },
  { name: 'the finish reason', landmark: 'finish reason', stage: 'in the content' },
  { name: 'the end mark', landmark: 'end mark', stage: 'before the end mark' },
]

const cutStreams = (end: CutEnd, sending: Sending): readonly Fault[] =>
  CUT_FRAMES.flatMap(frame => Object.keys(CUTS).flatMap(where => cutStream({ end, where }, frame, sending) ?? []))

interface CutAt {
  readonly end: CutEnd
  readonly where: string
}

function cutStream({ end, where }: CutAt, { name, landmark, stage }: CutFrame, sending: Sending): Fault | undefined {
  const { upstream } = sending
  const place = placeOf(upstream, landmark)
  const frame = bytesOf(frames(upstream)[place - 1] ?? '')
  const length = CUTS[where]?.(frame)
  if (length === undefined) return undefined
  const before = framesTo(upstream, place - 1)
  // Only the end of a body stands for a blank line that is missing: of what broke off, nobody knows where it ends.
  const isWhole = end === 'ends' && where === 'before the blank line'
  const { progress } = isWhole ? framesTo(upstream, place) : before
  const steps = answering([...before.pieces, frame.subarray(0, length)], sending)
  const script = end === 'ends' ? [...steps, ...chunked.end] : [...delivered(steps, progress), stepOf(end)]
  const happening = { name: `${end} ${where} of ${name}`, stage, script: onRequest(...script) }
  return failing(happening, outcomeOf(progress, { code: 'upstream_error' }))
}

function cutBodies(end: CutEnd, sending: Sending): readonly Fault[] {
  const body = bytesOf(wholeBody(sending.upstream))
  const lengths = {
    'after one byte': 1,
    'in a character': inCharacter(body) ?? 0,
    'before the last byte': body.length - 1,
  }
  return Object.entries(lengths).map(([where, length]) => {
    const framing = end === 'ends' ? promising(length) : framingOf(sending)
    const ending = end === 'ends' ? framing.end : [stepOf(end)]
    const script = onRequest(...answering([body.subarray(0, length)], sending, framing), ...ending)
    return failing({ name: `${end} ${where}`, stage: 'in the content', script }, error('upstream_error'))
  })
}

// ── lengths ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A stream has an end of its own; of a body nobody can say that it has all of it. */
function promisesMore(sending: Sending): readonly Fault[] {
  const { pieces } = allOf(sending)
  const progress = sending.stream ? WHOLE_PROGRESS : NO_PROGRESS
  return (['hangs up', 'stalls'] as const).map(end => {
    const steps = answering(pieces, sending, promising(lengthOf(pieces) + 10))
    const script = onRequest(...delivered(steps, progress), stepOf(end))
    const happening = { name: `promises more than it sends and ${end}`, stage: 'after the end', script } as const
    return failing(happening, outcomeOf(progress, mishapOf(end)), patienceOf(end))
  })
}

/** What is there beyond the length is no part of the answer, nor of the next one. */
function sendsMore(sending: Sending): Fault {
  const half = halfOf(sending)
  const framing = promising(lengthOf(half.pieces))
  const script = onRequest(
    ...delivered(answering(allOf(sending).pieces, sending, framing), NO_PROGRESS),
    ...framing.end,
  )
  const happening = { name: 'sends more than it promises', stage: 'in the content', script } as const
  return { ...failing(happening, outcomeOf(half.progress, { code: 'upstream_error' })), spoils: true }
}
