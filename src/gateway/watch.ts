import type { Abort } from '../core/abort.ts'
import { asGatewayError, type Failure, GatewayError } from '../core/failure.ts'
import type { Ending } from '../core/ledger.ts'
import type { Seen } from '../core/seen.ts'
import { type Counted, count } from '../metering/count.ts'
import { asAnswerFailure } from '../protocol/answer.ts'
import type { AnswerStream, Protocol } from '../protocol/protocol.ts'
import { SseReader } from '../protocol/sse.ts'
import type { UpstreamReply } from '../upstream/client.ts'
import type { Meter } from './meter.ts'
import { isCallers } from './outcome.ts'
import type { Charged, Settlement } from './settlement.ts'

export interface Watched {
  readonly upstream: UpstreamReply
  readonly answer: AnswerStream
  readonly settlement: Settlement
  readonly meter: Meter
  readonly protocol: Protocol
  readonly requestId: string
  readonly promptEstimate: number
  /** Aborted with the failure when the caller leaves or the gateway stops. */
  readonly cut: Abort
  /** Takes what only the upstream knows out of a failure. */
  readonly conceal: (failure: Failure) => Failure
  readonly endingOf: (seen: Seen) => Ending | undefined
}

/** Proxies and agents give up on a silent connection; ten seconds are well below the shortest limit in use. */
const SILENCE_SWEEPS = 10
const SWEEP_MS = 1_000

/** Some servers keep the connection open after an answer and never send its end mark. */
const END_MARK_MS_MAX = 2_000

/**
 * The runtime may hand over a megabyte at once, of many thousand frames: they are made of it as the caller reads, so that
 * one who reads slowly has the bytes waiting, and not all that can be made of them.
 */
const READ_BYTES_MAX = 64 * 1024

const utf8 = new TextEncoder()

/** Signs of life for all streams at once: a timer for each would be moved with every piece of it. */
class Keepalives {
  /** How often there was a look. */
  now = 0
  private readonly streams = new Set<WatchedStream>()
  private timer: ReturnType<typeof setInterval> | undefined

  add(stream: WatchedStream): void {
    this.streams.add(stream)
    this.timer ??= setInterval(() => this.sweep(), SWEEP_MS)
  }

  delete(stream: WatchedStream): void {
    this.streams.delete(stream)
  }

  private sweep(): void {
    this.now++
    for (const stream of this.streams) stream.keepAlive(this.now)
    if (this.streams.size > 0) return
    clearInterval(this.timer)
    this.timer = undefined
  }
}

const keepalives = new Keepalives()

/**
 * One streamed answer from its first byte to its bill: the one place that sees every ending. Work is synchronous per
 * chunk of the upstream; only reading, and waiting for the settlement, are not.
 */
export class WatchedStream {
  private readonly parts: Watched
  private readonly reader = new SseReader()
  /** Received, and not yet read. */
  private unread: Uint8Array | undefined
  private isReadOut = false
  /** How much had come when the upstream said why it stopped. */
  private piecesOfAll: number | undefined
  private charged: Charged | undefined
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined
  /** By the keep-alives' count, when the caller was last told something. */
  private saidAt = 0
  private broken: GatewayError | undefined
  private ended = false
  private isUnderWay = false
  /** The caller is ready for more. */
  private isAwaited = false
  /** More is awaited of the upstream: whoever waits there hears of the end of the call, too. */
  private isReceiving = false

  constructor(parts: Watched) {
    this.parts = parts
  }

  /** Reads up to the first text for the caller: a failure before it can still be answered with its status. */
  async open(): Promise<ReadableStream<Uint8Array>> {
    const first = await this.next()
    this.parts.settlement.firstByte()
    this.parts.settlement.underWay()
    this.isUnderWay = true
    // A caller may leave when nobody reads: before the answer is on its way, or while it waits to be fetched.
    this.parts.cut.onAbort(() => this.cut())
    return new ReadableStream<Uint8Array>(
      {
        start: controller => this.begin(controller, first),
        pull: () => this.pull(),
        cancel: () => this.clientGone(),
      },
      { highWaterMark: 0 },
    )
  }

  /** For an answer that says nothing until it is over: all of it, paid for. */
  async whole(): Promise<Charged> {
    try {
      await this.next()
    } catch (error) {
      const failure = asGatewayError(error)
      if (isCallers(failure.failure)) await this.chargeRelayed(failure)
      throw failure
    }
    if (!this.charged) throw new Error('an answer that is not over has said something')
    return this.charged
  }

  private begin(controller: ReadableStreamDefaultController<Uint8Array>, first: string): void {
    this.controller = controller
    controller.enqueue(utf8.encode(first))
    if (this.ended) {
      controller.close()
      return
    }
    this.saidAt = keepalives.now
    keepalives.add(this)
  }

  /** Told from time to time. */
  keepAlive(now: number): void {
    if (now - this.saidAt < SILENCE_SWEEPS) return
    this.saidAt = now
    // A caller who does not read needs no sign of life; it would only pile up.
    const isWaiting = this.controller?.desiredSize === 0
    if (isWaiting) this.controller?.enqueue(utf8.encode(this.parts.protocol.keepalive))
  }

  private pull(): void {
    // A sign of life was read while the answer is still awaited.
    if (this.isAwaited) return
    this.isAwaited = true
    const isRead = this.broken || this.unread || this.reader.hasNext || this.parts.answer.isComplete
    if (isRead) {
      this.proceed()
      return
    }
    this.isReceiving = true
    this.parts.upstream.next().then(this.take, this.lose)
  }

  /**
   * Nearly all of a stream is this: bytes come and leave as text, and nothing else is waited for. An asynchronous function
   * for each step of that would take longer than the steps.
   */
  private readonly take = (chunk: Uint8Array | undefined): void => {
    this.isReceiving = false
    this.feed(chunk)
    const text = this.convert()
    if (text !== '' && !this.broken && !this.isOver && this.isCovered) this.say(text)
    else this.proceed(text)
  }

  private readonly lose = (error: unknown): void => {
    this.isReceiving = false
    this.fail(error).then(text => this.say(text))
  }

  private proceed(converted?: string): void {
    this.next(converted)
      .catch(error => this.fail(error))
      .then(text => this.say(text))
  }

  private say(text: string): void {
    this.isAwaited = false
    this.saidAt = keepalives.now
    if (this.ended) keepalives.delete(this)
    try {
      this.controller?.enqueue(utf8.encode(text))
      if (this.ended) this.controller?.close()
    } catch {
      // The client left while this was awaited; `cancel` has seen to the rest.
    }
  }

  /** The next text for the caller, of which some may be there already; the last one waits for the settlement. */
  private async next(converted?: string): Promise<string> {
    const { answer, meter } = this.parts
    for (let text = converted; ; text = undefined) {
      text ??= await this.convertNext()
      const last = text
      if (!this.broken && this.isOver) return this.ending(last, () => this.finish(last))
      if (!this.isCovered) {
        const goesOn = async () => (await meter.extend(answer.seen)) || this.broken !== undefined
        const ended = await this.ending(last, async () => ((await goesOn()) ? undefined : this.finishShort(last)))
        if (ended !== undefined) return ended
        // It was cut while it waited for money: what was not charged then is not delivered.
        if (this.broken) throw this.broken
      }
      if (last !== '') return last
    }
  }

  private async convertNext(): Promise<string> {
    if (this.broken) throw this.broken
    if (!this.reader.hasNext) await this.read()
    return this.convert()
  }

  /** If the end cannot be settled, what came before it is still delivered: it is charged for. */
  private async ending<Last>(text: string, finish: () => Promise<Last>): Promise<Last | string> {
    try {
      return await finish()
    } catch (error) {
      if (this.broken || !this.isUnderWay || text === '') throw this.broken ?? error
      this.broken = asGatewayError(error)
      return text
    }
  }

  private async read(): Promise<void> {
    this.feed(this.unread ?? (await this.receive()))
  }

  private feed(chunk: Uint8Array | undefined): void {
    this.isReadOut = chunk === undefined
    const isLong = chunk !== undefined && chunk.byteLength > READ_BYTES_MAX
    this.unread = isLong ? chunk.subarray(READ_BYTES_MAX) : undefined
    try {
      if (chunk) this.reader.take(isLong ? chunk.subarray(0, READ_BYTES_MAX) : chunk)
      else this.reader.takeEnd()
    } catch (error) {
      this.broken = asAnswerFailure(error)
    }
  }

  private async receive(): Promise<Uint8Array | undefined> {
    const { answer, upstream } = this.parts
    this.isReceiving = true
    try {
      // Of an answer that is complete only its end mark can be missing: a silence, or a broken line, stands for it.
      return await (answer.isComplete ? upstream.next(END_MARK_MS_MAX).catch(() => undefined) : upstream.next())
    } finally {
      this.isReceiving = false
    }
  }

  private get isOver(): boolean {
    return this.parts.answer.done || (this.isReadOut && !this.reader.hasNext)
  }

  /** An answer that is complete needs no more money than its settlement takes; one that goes on all the same is not. */
  private get isCovered(): boolean {
    const { answer, meter } = this.parts
    if (this.broken) return true
    if (answer.isComplete) this.piecesOfAll ??= answer.seen.pieces
    return this.piecesOfAll === answer.seen.pieces || meter.covers(answer.seen)
  }

  /** How much may have been seen for `isCovered` to be true without a second look. */
  private get carefree(): number {
    return this.piecesOfAll === undefined ? this.parts.meter.carefreeCharacters : -1
  }

  /** What came before a broken frame is delivered, wherever the bytes were cut; the failure comes after it. */
  private convert(): string {
    const { answer } = this.parts
    let text = ''
    try {
      while (!answer.done && this.isCovered) {
        const next = answer.pushAlike(this.reader, this.carefree) ?? this.pushNext()
        if (next === undefined) break
        text += next
      }
      if (this.isOver) text += answer.end()
    } catch (error) {
      if (!answer.isComplete || !this.isReadOut) this.broken = asAnswerFailure(error)
      // Of an answer that is complete, what breaks off at its end is a piece of its end mark.
      else text += answer.end()
      this.reader.drop()
    }
    return text
  }

  private pushNext(): string | undefined {
    const frame = this.reader.next()
    return frame && this.parts.answer.push(frame)
  }

  private finish(text: string): Promise<string> {
    const { answer, upstream, meter, promptEstimate, endingOf } = this.parts
    upstream.release()
    const { counted, ending } = meter.conclude(count(answer.seen, promptEstimate), endingOf(answer.seen))
    return this.close(text, counted, ending)
  }

  /** No more may be spent: the answer ends here, as one that has reached its limit. */
  private finishShort(text: string): Promise<string> {
    const { answer, upstream, meter, promptEstimate } = this.parts
    upstream.cancel()
    const shortened = text + answer.shorten()
    return this.close(shortened, meter.withinHold(count(answer.seen, promptEstimate)), meter.shortage)
  }

  /** The last text, with the bill in it, once that is paid. */
  private async close(before: string, counted: Counted, ending: Ending | undefined): Promise<string> {
    const { answer, settlement } = this.parts
    // It was cut while it waited for money, and is settled as that.
    if (this.broken) throw this.broken
    settlement.firstByte()
    this.charged = await settlement.charge(counted, { ending, write: bill => before + answer.close(bill) })
    this.ended = true
    return this.charged.text
  }

  /** After the first byte there is no status left: the failure becomes the dialect's error frame. */
  private async fail(error: unknown): Promise<string> {
    const { protocol, requestId, conceal } = this.parts
    const { failure, cause } = asGatewayError(error)
    const told = conceal(failure)
    this.ended = true
    await this.chargeRelayed(new GatewayError(told, cause))
    return protocol.errorFrames(told, { requestId })
  }

  private clientGone(): Promise<void> {
    this.ended = true
    return this.chargeRelayed(new GatewayError({ kind: 'client-gone' }))
  }

  private cut(): void {
    const { reason } = this.parts.cut
    if (!(reason instanceof GatewayError) || !this.isCutBy(reason.failure)) return
    // What waits is not charged any more, so it is not delivered either.
    this.broken ??= reason
    this.chargeRelayed(reason)
  }

  /** The signal also ends finished and overdue calls; only these reasons come when nobody may be reading. */
  private isCutBy(failure: Failure): boolean {
    if (failure.kind === 'upstream-timeout') return failure.phase === 'total' && !this.isReceiving
    return failure.kind === 'client-gone' || failure.kind === 'shutting-down'
  }

  /** What was made is paid for, however the stream ended. */
  private async chargeRelayed(failure: GatewayError): Promise<void> {
    const { answer, upstream, settlement, meter, promptEstimate } = this.parts
    keepalives.delete(this)
    upstream.cancel()
    await settlement.charge(meter.confine(count(answer.seen, promptEstimate)), { failure }).catch(() => {})
  }
}
