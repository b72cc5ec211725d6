import { gzipSync } from 'node:zlib'
import { error, type Fault, failing, onRequest, sound } from './fault.ts'
import { bytesOf, chunked, head, join, message, type Step, untilClosed, write } from './script.ts'
import { allOf, answering, framingOf, type Sending, typeOf } from './sending.ts'

/** Wrong names, packings, old and slow manners: most of it is odd, and none of it a reason to fail. */
export const oddities = (sending: Sending): readonly Fault[] => [
  ...wrongTypes(sending),
  ...packed(sending),
  trickling(sending),
  slow(sending),
  old(sending),
  hinting(sending),
]

const TYPES = ['application/json', 'text/event-stream', 'text/plain', 'text/html', undefined]

const wrongTypes = (sending: Sending): readonly Fault[] =>
  TYPES.filter(type => type !== typeOf(sending)).map(type => {
    const framing = framingOf(sending)
    const body = allOf(sending).pieces.map(piece => write(framing.wrap(piece)))
    const script = onRequest(write(head(framing, { type })), ...body, ...framing.end)
    const name = type === undefined ? 'does not say what it sends' : `calls it ${type}`
    return sound({ name, stage: 'after the headers', script })
  })

/** Less than this of a packed answer cannot be unpacked at all. */
const GZIP_HEAD_BYTES = 10

function packed(sending: Sending): readonly Fault[] {
  const plain = join(allOf(sending).pieces)
  const bytes = new Uint8Array(gzipSync(plain))
  const happening = (name: string, body: Uint8Array) => {
    const script = onRequest(...message(body, { type: typeOf(sending), headers: ['content-encoding: gzip'] }))
    return { name, stage: 'after the headers', script } as const
  }
  return [
    sound(happening('packs its answer', bytes)),
    failing(happening('says that it has packed what it has not', plain), error('upstream_error')),
    failing(happening('packs its answer and ends', bytes.subarray(0, GZIP_HEAD_BYTES)), error('upstream_error')),
  ]
}

/** A byte at a time, so that everything is cut everywhere. */
function trickling(sending: Sending): Fault {
  const steps = answering(allOf(sending).pieces, sending)
  const bytes = join(steps.flatMap(step => (step.do === 'write' ? [step.bytes] : [])))
  const script = onRequest({ do: 'trickle', bytes }, ...framingOf(sending).end)
  return sound({ name: 'trickles', stage: 'after the request', script })
}

const PAUSE_MS = 150

/** As a whole it takes longer than any of its pauses may. */
function slow(sending: Sending): Fault {
  const pause: Step = { do: 'pause', ms: PAUSE_MS }
  const steps = answering(allOf(sending).pieces, sending).flatMap(step => [pause, step])
  const script = onRequest(...steps, ...framingOf(sending).end)
  return { ...sound({ name: 'takes its time', stage: 'after the request', script }), patience: 'short' }
}

function old(sending: Sending): Fault {
  const [first, ...rest] = answering(allOf(sending).pieces, sending, untilClosed)
  const text = first?.do === 'write' ? new TextDecoder().decode(first.bytes).replace('HTTP/1.1', 'HTTP/1.0') : ''
  const script = onRequest(write(text), ...rest, ...untilClosed.end)
  return sound({ name: 'speaks HTTP/1.0', stage: 'after the request', script })
}

/** An answer before the answer. */
function hinting(sending: Sending): Fault {
  const hint = bytesOf('HTTP/1.1 103 Early Hints\r\nlink: </elsewhere>\r\n\r\n')
  const framing = sending.stream ? chunked : framingOf(sending)
  const script = onRequest(write(hint), ...answering(allOf(sending).pieces, sending, framing), ...framing.end)
  return sound({ name: 'sends a hint first', stage: 'after the request', script })
}
