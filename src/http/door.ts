import { GatewayError } from '../core/failure.ts'
import type { Reply } from '../gateway/serve.ts'
import type { Stay } from '../gateway/stay.ts'

/**
 * Counts the turns that are under way. One too many costs everyone time, so it is turned away before anything of it is
 * looked at: an answer that comes at once and says when to come back is the best it can get.
 */
export class Door {
  private readonly most: number
  /** From the moment they come in until all of them is over. */
  inside = 0

  constructor(most: number) {
    this.most = most
  }

  async pass(stay: Stay, serve: () => Promise<Reply>): Promise<Reply> {
    if (this.inside >= this.most) throw new GatewayError({ kind: 'overloaded' })
    this.inside++
    stay.whenOver(() => {
      this.inside--
    })
    return stay.through(serve())
  }
}
