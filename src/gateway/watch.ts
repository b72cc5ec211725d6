import { asGatewayError, type Failure, GatewayError } from '../core/failure.ts'
import { count } from '../metering/count.ts'
import { asAnswerFailure } from '../protocol/answer.ts'
import type { AnswerStream, Protocol } from '../protocol/protocol.ts'
import { SseReader } from '../protocol/sse.ts'
import type { UpstreamReply } from '../upstream/client.ts'
import type { Settlement } from './settlement.ts'

export interface Watched {
  readonly upstream: UpstreamReply
  readonly answer: AnswerStream
  readonly settlement: Settlement
  readonly protocol: Protocol
  readonly requestId: string
  readonly promptEstimate: number
  /** Aborted with the failure when the caller leaves or the gateway stops. */
  readonly cut: AbortSignal
  /** Takes what only the upstream knows out of a failure. */
  readonly conceal: (failure: Failure) => Failure
}

/** Proxies and agents give up on a silent connection; this is well below the shortest limit in use. */
const KEEPALIVE_MS = 10_000

/** Some servers keep the connection open after an answer and never send its end mark. */
const END_MARK_MS_MAX = 2_000

const utf8 = new TextEncoder()

/**
 * One streamed answer from its first byte to its bill: the one place that sees every ending. Work is synchronous per
 * chunk of the upstream; only reading, and waiting for the settlement, are not.
 */
export class WatchedStream {
  private readonly parts: Watched
  private readonly frames = new SseReader()
  private keepalive: ReturnType<typeof setInterval> | undefined
  private broken: GatewayError | undefined
  private ended = false

  constructor(parts: Watched) {
    this.parts = parts
  }

  /** Reads up to the first text for the caller: a failure before it can still be answered with its status. */
  async open(): Promise<ReadableStream<Uint8Array>> {
    const first = await this.next()
    this.parts.settlement.firstByte()
    // A caller may leave when nobody reads: before the answer is on its way, or while it waits to be fetched.
    this.parts.cut.addEventListener('abort', () => this.cut(), { once: true })
    return new ReadableStream<Uint8Array>(
      {
        start: controller => this.begin(controller, first),
        pull: controller => this.pull(controller),
        cancel: () => this.clientGone(),
      },
      { highWaterMark: 0 },
    )
  }

  private begin(controller: ReadableStreamDefaultController<Uint8Array>, first: string): void {
    controller.enqueue(utf8.encode(first))
    if (this.ended) {
      controller.close()
      return
    }
    this.keepalive = setInterval(() => {
      // A caller who does not read needs no sign of life; it would only pile up.
      const isWaiting = controller.desiredSize === 0
      if (isWaiting) controller.enqueue(utf8.encode(this.parts.protocol.keepalive))
    }, KEEPALIVE_MS)
  }

  private async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const text = await this.next().catch(error => this.fail(error))
    if (this.ended) clearInterval(this.keepalive)
    else this.keepalive?.refresh()
    try {
      controller.enqueue(utf8.encode(text))
      if (this.ended) controller.close()
    } catch {
      // The client left while this was awaited; `cancel` has seen to the rest.
    }
  }

  /** The next text for the caller; the last one waits for the settlement. */
  private async next(): Promise<string> {
    const { upstream, answer } = this.parts
    for (;;) {
      if (this.broken) throw this.broken
      const chunk = answer.isComplete ? await this.rest() : await upstream.next()
      const text = this.convert(chunk)
      if (!this.broken && (answer.done || !chunk)) return text + (await this.finish())
      if (text !== '') return text
    }
  }

  /** Of an answer that is complete only its end mark can be missing: a silence, or a broken line, stands for it. */
  private rest(): Promise<Uint8Array | undefined> {
    return this.parts.upstream.next(END_MARK_MS_MAX).catch(() => undefined)
  }

  /** What came before a broken frame is delivered, wherever the bytes were cut; the failure comes after it. */
  private convert(chunk: Uint8Array | undefined): string {
    const { answer } = this.parts
    let text = ''
    try {
      for (const frame of chunk ? this.frames.push(chunk) : this.frames.end()) {
        if (!answer.done) text += answer.push(frame)
      }
      if (answer.done || !chunk) text += answer.end()
    } catch (error) {
      this.broken = asAnswerFailure(error)
    }
    return text
  }

  private async finish(): Promise<string> {
    const { answer, upstream, settlement, promptEstimate } = this.parts
    upstream.release()
    const { bill } = await settlement.charge(count(answer.seen, promptEstimate))
    this.ended = true
    return answer.close(bill)
  }

  /** After the first byte there is no status left: the failure becomes the dialect's error frame. */
  private async fail(error: unknown): Promise<string> {
    const { protocol, requestId, conceal } = this.parts
    const failure = asGatewayError(error)
    this.ended = true
    await this.chargeRelayed(failure)
    return protocol.errorFrames(conceal(failure.failure), requestId)
  }

  private clientGone(): Promise<void> {
    this.ended = true
    return this.chargeRelayed(new GatewayError({ kind: 'client-gone' }))
  }

  /** The signal also ends finished and overdue calls; only these two reasons come when nobody may be reading. */
  private cut(): void {
    const { reason } = this.parts.cut
    if (!(reason instanceof GatewayError)) return
    const { kind } = reason.failure
    if (kind === 'client-gone' || kind === 'shutting-down') this.chargeRelayed(reason)
  }

  /** What was made is paid for, however the stream ended. */
  private async chargeRelayed(failure: GatewayError): Promise<void> {
    const { answer, upstream, settlement, promptEstimate } = this.parts
    clearInterval(this.keepalive)
    upstream.cancel()
    await settlement.charge(count(answer.seen, promptEstimate), failure).catch(() => {})
  }
}
