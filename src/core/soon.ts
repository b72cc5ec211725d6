/**
 * Does one thing again and again, never twice at the same time: who asks while it is under way gets the next one, which
 * begins after that, together with all others who have asked until then.
 */
export class Soon {
  private readonly work: () => Promise<void>
  private running: Promise<void> = Promise.resolve()
  private next: Promise<void> | undefined

  constructor(work: () => Promise<void>) {
    this.work = work
  }

  do(): Promise<void> {
    this.next ??= this.running.then(() => this.begin())
    return this.next
  }

  private begin(): Promise<void> {
    this.next = undefined
    const done = this.work()
    this.running = done.catch(() => {})
    return done
  }
}
