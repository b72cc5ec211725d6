/**
 * Tells a call under way that nobody waits for it any more, and why. Not the platform's `AbortController`: with its signal
 * and its events that takes two microseconds of every request, and this takes none that can be measured.
 */
export class Abort {
  isAborted = false
  reason: unknown
  private listeners: (() => void)[] = []

  /** The first reason counts. */
  abort(reason?: unknown): void {
    if (this.isAborted) return
    this.isAborted = true
    this.reason = reason
    for (const listener of this.listeners) listener()
    this.listeners = []
  }

  /** Calls at once where it is too late already. */
  onAbort(listener: () => void): void {
    if (this.isAborted) listener()
    else this.listeners.push(listener)
  }
}
