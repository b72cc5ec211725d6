import type { Answer } from './answer.ts'
import type { Fields } from './fields.ts'
import type { Prompt } from './prompt.ts'

/** One of the two protocols a vendor speaks; the twins are `chat/` and `messages/`. */
export interface Dialect {
  readonly requestIdHeader: string
  /** Throws a `Refusal` where the vendor would answer 400. */
  read(body: Fields): Prompt
  body(answer: Answer): object
  frames(answer: Answer, prompt: Prompt): Iterable<Frame>
  error(failure: Failure): object
}

/** One event of a stream, as the bytes that travel. */
export interface Frame {
  /** A delta carries one token; the close is where the stream says why it ends. */
  readonly kind: 'frame' | 'delta' | 'close'
  readonly text: string
}

export interface Failure {
  readonly status: number
  readonly message: string
  readonly requestId: string
}
