import { type Captures, type Exchange, sealExchange } from '../core/captures.ts'
import { asGatewayError } from '../core/failure.ts'
import { once } from '../core/once.ts'
import type { Sealer } from '../core/seal.ts'
import { endOfTurn } from '../core/turns.ts'
import { Copy } from './copy.ts'
import type { Inquiry } from './refusals.ts'
import type { Reply } from './serve.ts'

interface KeeperDeps {
  readonly captures: Captures
  readonly sealer: Sealer
  /** What errors refer to. */
  readonly consoleUrl: () => string | undefined
  /** Tells the operator what could not be written. */
  readonly report: (error: unknown) => void
}

/** Of each direction: enough for nearly all conversations, little enough for a database to have thousands of them. */
const BYTES_MAX = 256 * 1024

/** Keeps what was asked and answered, for callers whose key says so. Nobody waits for it. */
export class Keeper {
  private readonly deps: KeeperDeps
  private readonly writing = new Set<Promise<void>>()

  constructor(deps: KeeperDeps) {
    this.deps = deps
  }

  /** Passes an answer on as it is; what was sent is written down when it has ended. */
  async keep(inquiry: Inquiry, answer: () => Promise<Reply>): Promise<Reply> {
    const sent = new Copy(BYTES_MAX)
    const end = once(() => this.write(inquiry, sent))
    try {
      const reply = await answer()
      if (typeof reply.body === 'string') {
        sent.addText(reply.body)
        end()
        return reply
      }
      // Where a caller leaves and nobody reads on, nothing else tells that it is over.
      reply.ended?.then(() => inquiry.call.signal.aborted && end())
      return { ...reply, body: copied(reply.body, sent, end) }
    } catch (error) {
      const { failure } = asGatewayError(error)
      const context = { requestId: inquiry.call.requestId, consoleUrl: this.deps.consoleUrl() }
      sent.addText(inquiry.protocol.errorBody(failure, context))
      if (failure.kind !== 'credential-invalid') end()
      throw error
    }
  }

  /** Resolves when everything is written: the store is about to be closed. */
  async drain(): Promise<void> {
    await Promise.all(this.writing)
  }

  private write({ call, caller, bytes }: Inquiry, sent: Copy): void {
    const asked = new Copy(BYTES_MAX)
    asked.add(bytes)
    const about = { requestId: call.requestId, keyId: caller.keyId, createdAt: call.startedAt }
    const exchange = { request: asked.text(), response: sent.text() }
    const writing = this.store({ ...about, isCut: asked.isCut || sent.isCut }, exchange).catch(this.deps.report)
    this.writing.add(writing)
    writing.then(() => this.writing.delete(writing))
  }

  private async store(about: Omit<Parameters<Captures['keep']>[0], 'sealed'>, exchange: Exchange): Promise<void> {
    // The answer goes first.
    await endOfTurn()
    await this.deps.captures.keep({ ...about, sealed: sealExchange(exchange, this.deps.sealer) })
  }
}

/** The same stream, piece by piece and no faster than it is read. */
function copied(stream: ReadableStream<Uint8Array>, copy: Copy, end: () => void): ReadableStream<Uint8Array> {
  const reader = stream.getReader()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value } = await reader.read().catch(error => {
          end()
          throw error
        })
        if (value) {
          copy.add(value)
          controller.enqueue(value)
          return
        }
        end()
        controller.close()
      },
      cancel(reason) {
        end()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}
