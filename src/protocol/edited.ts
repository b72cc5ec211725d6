import type { EditedRequest } from './protocol.ts'

/** A request in pieces of bytes, which is one text only for those who want to read it. */
class EditedBytes implements EditedRequest {
  readonly pieces: readonly Uint8Array[]
  readonly dropped: readonly string[]

  constructor(pieces: readonly Uint8Array[], dropped: readonly string[]) {
    this.pieces = pieces
    this.dropped = dropped
  }

  get body(): string {
    return Buffer.concat(this.pieces).toString()
  }
}

export const editedRequest = (written: string | readonly Uint8Array[], dropped: readonly string[]): EditedRequest =>
  typeof written === 'string' ? { body: written, dropped } : new EditedBytes(written, dropped)
