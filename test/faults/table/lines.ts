import {
  error,
  type Fault,
  failing,
  LINE_ENDS,
  type LineEnd,
  mishapOf,
  onRequest,
  patienceOf,
  STAGES,
  type Stage,
  stepOf,
} from './fault.ts'
import { outcomeOf } from './outcome.ts'
import { chunked, type Framing, promising, type Script, type Step, statusLine, untilClosed, write } from './script.ts'
import { answering, delivered, lengthOf, type Sending, sentAt } from './sending.ts'

/** Connections that cannot be made, break, fall silent or end too early, at every stage. */
export const brokenLines = (sending: Sending): readonly Fault[] => [
  { ...failing({ name: 'refuses', stage: 'at connect', script: onRequest() }, error('upstream_error')), refuses: true },
  ...LINE_ENDS.flatMap(end => STAGES.flatMap(stage => brokenLine(end, stage, sending) ?? [])),
  ...STAGES.flatMap(stage => earlyEnds(stage, sending)),
]

function brokenLine(end: LineEnd, stage: Stage, sending: Sending): Fault | undefined {
  switch (stage) {
    case 'at connect':
      return unanswered(end, stage, { begins: 'at connect', steps: [stepOf(end)] })
    case 'after the request headers':
      return { ...unanswered(end, stage, { begins: 'at the head', steps: [stepOf(end)] }), isLongRequest: true }
    case 'after the request':
      return unanswered(end, stage, onRequest(stepOf(end)))
    case 'after the status line':
      return unanswered(end, stage, onRequest(write(statusLine(200)), stepOf(end)))
    default:
      return brokenAnswer(end, stage, sending)
  }
}

const unanswered = (name: LineEnd, stage: Stage, script: Script): Fault =>
  failing({ name, stage, script }, error(mishapOf(name).code), patienceOf(name))

function brokenAnswer(end: LineEnd, stage: Stage, sending: Sending): Fault | undefined {
  const sent = sentAt(stage, sending)
  // A connection that stays open after a whole body waits for the next request.
  if (!sent || (end === 'stalls' && isFree(stage, sending))) return undefined
  const steps: readonly Step[] = answering(sent.pieces, sending)
  const before = end === 'stalls' ? steps : delivered(steps, sent.progress)
  const script = onRequest(...before, stepOf(end))
  const fault = failing({ name: end, stage, script }, outcomeOf(sent.progress, mishapOf(end)), patienceOf(end))
  return { ...fault, spoils: isFree(stage, sending) }
}

/** A body that has all of its bytes is over, and its connection free, before anything else can happen. */
export const isFree = (stage: Stage, { stream }: Sending): boolean => stage === 'after the end' && !stream

/** HTTP is satisfied, and the answer is not over. */
function earlyEnds(stage: Stage, sending: Sending): readonly Fault[] {
  const sent = sentAt(stage, sending)
  if (!sent) return []
  const ending = (name: string, framing: Framing): Fault => {
    const script = onRequest(...answering(sent.pieces, sending, framing), ...framing.end)
    return failing({ name, stage, script }, outcomeOf(sent.progress, { code: 'upstream_error' }))
  }
  const honest = sending.stream ? chunked : promising(lengthOf(sent.pieces))
  return [ending('closes', untilClosed), ...(stage === 'after the end' ? [] : [ending('ends', honest)])]
}
