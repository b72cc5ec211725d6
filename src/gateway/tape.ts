/** Small answers, of which there are many, get small blocks; later ones are larger, so that there are few of them. */
const BLOCK_BYTES_MIN = 4 * 1024
const BLOCK_BYTES_MAX = 64 * 1024

interface Block {
  /** Of its first byte, counted from the beginning of the tape. */
  readonly start: number
  readonly bytes: Uint8Array
  filled: number
}

/**
 * Bytes that are written once, at the end, and read any number of times, at any place; what nobody will read any more can
 * be dropped from the beginning. Pieces of a stream are small, and an object for each would weigh more than what it holds.
 */
export class Tape {
  private readonly blocks: Block[] = []
  /** How much has been written. */
  end = 0

  write(piece: Uint8Array): void {
    let rest = piece
    while (rest.byteLength > 0) {
      const block = this.block()
      const part = rest.subarray(0, block.bytes.byteLength - block.filled)
      block.bytes.set(part, block.filled)
      block.filled += part.byteLength
      this.end += part.byteLength
      rest = rest.subarray(part.byteLength)
    }
  }

  /** What lies together from this place on: some of it, if there is any. */
  read(place: number): Uint8Array | undefined {
    const block = this.blocks.find(({ start, filled }) => place < start + filled)
    return block?.bytes.subarray(place - block.start, block.filled)
  }

  /** Everything that has not been dropped. */
  all(): Uint8Array[] {
    return this.blocks.map(({ bytes, filled }) => bytes.subarray(0, filled))
  }

  dropBefore(place: number): void {
    const kept = this.blocks.findIndex(({ start, filled }) => place < start + filled)
    this.blocks.splice(0, kept < 0 ? this.blocks.length : kept)
  }

  private block(): Block {
    const last = this.blocks.at(-1)
    if (last && last.filled < last.bytes.byteLength) return last
    const size = last ? Math.min(last.bytes.byteLength * 2, BLOCK_BYTES_MAX) : BLOCK_BYTES_MIN
    const block = { start: this.end, bytes: new Uint8Array(size), filled: 0 }
    this.blocks.push(block)
    return block
  }
}
