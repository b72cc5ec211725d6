import type { Reply } from './serve.ts'

/**
 * How long a request is under way: until every answer of it is complete, or will never be. There may be two: what its caller
 * gets, and the call behind that, which outlives a caller who leaves and may ask again.
 */
export class Stay {
  private open = 0
  private readonly leaves: (() => void)[] = []

  /** To be called when all is over. */
  whenOver(leave: () => void): void {
    this.leaves.push(leave)
  }

  /** Lasts at least until this is answered; where the answer goes on after its first byte, until that has ended. */
  async through(answer: Promise<Reply>): Promise<Reply> {
    this.open++
    try {
      const reply = await answer
      if (reply.ended) reply.ended.then(this.close)
      else this.close()
      return reply
    } catch (error) {
      this.close()
      throw error
    }
  }

  private readonly close = (): void => {
    this.open--
    if (this.open > 0) return
    for (const leave of this.leaves.splice(0)) leave()
  }
}
