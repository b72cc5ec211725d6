const utf8 = new TextEncoder()

/** A copy of what passes by, up to a limit. */
export class Copy {
  isCut = false
  private readonly bytesMax: number
  private readonly pieces: Uint8Array[] = []
  private bytes = 0

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  addText(text: string): void {
    // A character is a byte at least: what lies beyond need not be encoded to be left out.
    this.add(utf8.encode(text.slice(0, this.bytesMax + 1)))
  }

  add(piece: Uint8Array): void {
    const room = this.bytesMax - this.bytes
    this.isCut ||= piece.byteLength > room
    if (room === 0) return
    // Not the piece itself: whoever made it may use its memory again.
    this.pieces.push(piece.slice(0, room))
    this.bytes += Math.min(piece.byteLength, room)
  }

  /** Up to the last whole character. */
  text(): string {
    return new TextDecoder().decode(Buffer.concat(this.pieces), { stream: this.isCut })
  }
}
