import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Frame } from './dialect.ts'
import type { Interruption } from './directives.ts'

const EVENT_STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }
const JSON_TYPE = { 'content-type': 'application/json' }

/** Neither JSON nor text. */
const GARBAGE = new Uint8Array([0x3c, 0x21, 0x00, 0xff, 0xfe, 0x7b, 0x22, 0xc3, 0x28])

/** A reset overtakes what the client has not taken from its socket yet; the cut is to come after that. */
const CUT_DELAY_MS = 100

export interface Delivery {
  readonly headers: Readonly<Record<string, string>>
  readonly interruption: Interruption | undefined
  /** Fires when the client leaves. */
  readonly signal: AbortSignal
}

/** Something to send, or what becomes of the connection instead of the rest. */
type Step = { readonly text: string } | { readonly fate: 'cut' | 'stall' }

export async function sendBody(body: object, { headers, interruption, signal }: Delivery): Promise<Response> {
  const init = { headers: { ...JSON_TYPE, ...headers } }
  const text = JSON.stringify(body)
  switch (interruption?.how) {
    case undefined:
      return new Response(text, init)
    case 'garbage':
      return new Response(GARBAGE, init)
    case 'cut': {
      const half: readonly Step[] = [{ text: text.slice(0, text.length / 2) }, { fate: 'cut' }]
      return new Response(byteStream(half, signal), init)
    }
    case 'stall':
      await untilGone(signal)
      return new Response(null, init)
  }
}

export function sendFrames(frames: Iterable<Frame>, { headers, interruption, signal }: Delivery): Response {
  const steps = withInterruption(frames, interruption)
  return new Response(byteStream(steps, signal), { headers: { ...EVENT_STREAM, ...headers } })
}

/** Waits the given time, or until the client leaves. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => undefined)
}

/** An answer with fewer deltas than asked for is interrupted before it says that it is complete. */
function* withInterruption(frames: Iterable<Frame>, interruption: Interruption | undefined): Generator<Step> {
  let deltas = 0
  for (const frame of frames) {
    if (interruption && (deltas === interruption.afterDeltas || frame.kind === 'close')) {
      yield lastStep(interruption, frame)
      return
    }
    yield frame
    if (frame.kind === 'delta') deltas++
  }
}

function lastStep({ how }: Interruption, frame: Frame): Step {
  if (how !== 'garbage') return { fate: how }
  return { text: `${frame.text.slice(0, frame.text.length / 2)}\n\n` }
}

function byteStream(steps: Iterable<Step>, signal: AbortSignal): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const remaining = steps[Symbol.iterator]()

  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    // What is written in one turn of the event loop travels as one chunk.
    await setImmediate()
    if (signal.aborted) return
    const { value: step, done } = remaining.next()
    if (done) return controller.close()
    if ('text' in step) return controller.enqueue(encoder.encode(step.text))
    if (step.fate === 'stall') await untilGone(signal)
    else await pause(CUT_DELAY_MS, signal)
    // An errored stream resets the connection; with any value in place of undefined Bun would print it.
    controller.error(undefined)
  }
  return new ReadableStream({ pull, cancel: () => void remaining.return?.() }, { highWaterMark: 0 })
}

async function untilGone(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
}
