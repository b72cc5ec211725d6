import type { ProtocolName } from '../../support/wire.ts'
import { frames, NO_PROGRESS, type Progress, placeOf, progressOf, WHOLE_PROGRESS, wholeBody } from './answer.ts'
import { NOTHING, type Sent, type Stage } from './fault.ts'
import { bytesOf, chunked, type Framing, head, join, promising, type Step, write } from './script.ts'

/** The answer that is sent, as long as nothing goes wrong. */
export interface Sending {
  readonly upstream: ProtocolName
  readonly stream: boolean
}

export const typeOf = ({ stream }: Sending): string => (stream ? 'text/event-stream' : 'application/json')

/** As it is sent where nothing is wrong with the framing. */
export const framingOf = ({ upstream, stream }: Sending): Framing =>
  stream ? chunked : promising(Buffer.byteLength(wholeBody(upstream)))

export function allOf({ upstream, stream }: Sending): Sent {
  if (!stream) return { pieces: [bytesOf(wholeBody(upstream))], progress: WHOLE_PROGRESS }
  return framesTo(upstream, placeOf(upstream, 'end mark'))
}

/** What of the body was sent up to a stage; undefined where this answer has no such stage. */
export function sentAt(stage: Stage, sending: Sending): Sent | undefined {
  const { upstream, stream } = sending
  switch (stage) {
    case 'after the headers':
      return NOTHING
    case 'after the first frame':
      return stream ? framesTo(upstream, placeOf(upstream, 'first frame')) : undefined
    case 'in the content':
      return halfOf(sending)
    case 'after the finish reason':
      return stream ? framesTo(upstream, placeOf(upstream, 'finish reason')) : undefined
    case 'before the end mark': {
      const isLater = placeOf(upstream, 'usage') > placeOf(upstream, 'finish reason')
      return stream && isLater ? framesTo(upstream, placeOf(upstream, 'usage')) : undefined
    }
    case 'after the end':
      return allOf(sending)
    default:
      return undefined
  }
}

export function halfOf({ upstream, stream }: Sending): Sent {
  if (stream) return framesTo(upstream, placeOf(upstream, 'half the text'))
  const body = bytesOf(wholeBody(upstream))
  return { pieces: [body.subarray(0, body.byteLength / 2)], progress: NO_PROGRESS }
}

export function framesTo(upstream: ProtocolName, place: number): Sent {
  const sent = frames(upstream).slice(0, place)
  return { pieces: sent.map(bytesOf), progress: progressOf(sent) }
}

export const lengthOf = (pieces: readonly Uint8Array[]): number =>
  pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)

/** The head of an answer and some of its body, piece by piece; neither its end nor what stands for it. */
export const answering = (
  pieces: readonly Uint8Array[],
  sending: Sending,
  framing = framingOf(sending),
): readonly Step[] => [
  write(head(framing, { type: typeOf(sending) })),
  ...pieces.map(piece => write(framing.wrap(piece))),
]

/**
 * A connection that breaks takes with it what is still on its way. What travels together is read together, so a caller
 * who has the first of it will get the last: then it may break.
 */
export function delivered(steps: readonly Step[], { hasBegun }: Progress): readonly Step[] {
  const written = steps.flatMap(step => (step.do === 'write' ? [step.bytes] : []))
  return [write(join(written)), ...(hasBegun ? [{ do: 'wait for the caller' } as const] : [])]
}
