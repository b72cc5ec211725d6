const CR = 0x0d
const LF = 0x0a
const SEMICOLON = 0x3b
const SPACE = 0x20
const TAB = 0x09

/** Sizes up to 2^44, which is far above any answer. */
const SIZE_DIGITS_MAX = 11
/** Of what stands between payloads: extensions and trailers nobody reads. */
const BETWEEN_BYTES_MAX = 64 * 1024

type State = 'size' | 'extension' | 'payload' | 'payload over' | 'trailer' | 'trailer line' | 'over'

/** Takes the payloads out of a chunked body, wherever its bytes are cut. */
export class Chunks {
  private state: State = 'size'
  private left = 0
  private digits = 0
  private between = 0

  get isOver(): boolean {
    return this.state === 'over'
  }

  /**
   * Moves the payloads of `bytes`, from a place on, together to that place: a server that flushes every event sends
   * hundreds of chunks at once, and one piece is much cheaper to pass on than hundreds. Returns where they end, and where
   * the body does, if it ends in these bytes.
   */
  join(bytes: Uint8Array, from: number): { readonly end: number; readonly rest: number } {
    let end = from
    let at = from
    while (at < bytes.length && this.state !== 'over') {
      if (this.state !== 'payload') {
        this.step(bytes[at++] as number)
        continue
      }
      const taken = Math.min(this.left, bytes.length - at)
      if (end !== at) bytes.copyWithin(end, at, at + taken)
      end += taken
      at += taken
      this.left -= taken
      if (this.left === 0) this.state = 'payload over'
    }
    return { end, rest: at }
  }

  /** One byte of what stands between payloads. */
  private step(byte: number): void {
    if (++this.between > BETWEEN_BYTES_MAX) throw new Error('The upstream sent chunks without end')
    switch (this.state) {
      case 'size':
        this.size(byte)
        return
      case 'extension':
        if (byte === LF) this.begin()
        return
      case 'payload over':
        // CR, LF; a payload that is longer than it said goes on with something else.
        if (byte === LF) this.next()
        else if (byte !== CR) throw malformed()
        return
      case 'trailer':
        if (byte === LF) this.state = 'over'
        else if (byte !== CR) this.state = 'trailer line'
        return
      case 'trailer line':
        if (byte === LF) this.state = 'trailer'
    }
  }

  private size(byte: number): void {
    const digit = hexDigit(byte)
    if (digit !== -1) {
      if (++this.digits > SIZE_DIGITS_MAX) throw malformed()
      this.left = this.left * 16 + digit
      return
    }
    if (this.digits === 0) throw malformed()
    if (byte === LF) this.begin()
    else if (byte === CR || byte === SEMICOLON || byte === SPACE || byte === TAB) this.state = 'extension'
    else throw malformed()
  }

  private begin(): void {
    this.state = this.left === 0 ? 'trailer' : 'payload'
    this.between = 0
  }

  private next(): void {
    this.state = 'size'
    this.left = 0
    this.digits = 0
  }
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

const malformed = (): Error => new Error('The upstream sent malformed chunks')
