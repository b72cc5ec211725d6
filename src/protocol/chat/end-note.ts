import type { FinishReason } from '../../core/turn.ts'

/**
 * What an upstream has said of an answer's end. It is a note, not the end: it may ride on content, come early, or repeat
 * on every chunk.
 */
export class EndNote {
  reason: FinishReason | undefined
  private given = 0
  private isBare = false
  /** More was said since. */
  private wasEarly = false

  take(reason: FinishReason | undefined, isSpeaking: boolean): void {
    this.reason = reason ?? this.reason
    if (reason === undefined && !isSpeaking) return
    this.isBare = !isSpeaking
    this.wasEarly = reason === undefined
    if (reason !== undefined) this.given++
  }

  /** We end it here, whatever the upstream has said, unless it is over anyway. */
  cut(): void {
    if (!this.isOver) this.reason = 'length'
  }

  get isOver(): boolean {
    return this.isComplete && !this.wasEarly
  }

  /** Nothing but the end mark can be missing. Of a vendor that puts a reason on every chunk, only a bare one is believed. */
  get isComplete(): boolean {
    return this.reason !== undefined && (this.isBare || this.given === 1)
  }
}
