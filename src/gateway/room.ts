/**
 * Bytes that many share. Nobody gets more than what is still free after that: one alone has half of them at most, the next
 * one half of the rest, and however many have theirs, something is left for whoever comes then.
 */
export class Room {
  private readonly bytesMax: number
  private readonly owned = new Map<string, number>()
  private left: number

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
    this.left = bytesMax
  }

  /** False, and nothing is taken, if that is too much. */
  take(owner: string, bytes: number): boolean {
    if (this.of(owner) + bytes > this.left - bytes) return false
    this.change(owner, bytes)
    return true
  }

  giveBack(owner: string, bytes: number): void {
    this.change(owner, -bytes)
  }

  /** What everybody has, counted anew. */
  recount(owned: ReadonlyMap<string, number>): void {
    this.owned.clear()
    this.left = this.bytesMax
    for (const [owner, bytes] of owned) this.change(owner, bytes)
  }

  private of(owner: string): number {
    return this.owned.get(owner) ?? 0
  }

  private change(owner: string, bytes: number): void {
    const owned = this.of(owner) + bytes
    // Only those who have something are remembered.
    if (owned > 0) this.owned.set(owner, owned)
    else this.owned.delete(owner)
    this.left -= bytes
  }
}
