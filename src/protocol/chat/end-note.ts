import type { FinishReason } from '../../core/turn.ts'

/**
 * What an upstream has said of an answer's end. It is a note, not the end: it may ride on content, come early, or repeat
 * on every chunk.
 */
export class EndNote {
  reason: FinishReason | undefined
  private given = 0
  private isBare = false

  take(reason: FinishReason | undefined, isSpeaking: boolean): void {
    this.reason = reason ?? this.reason
    if (reason === undefined && !isSpeaking) return
    this.isBare = !isSpeaking
    if (reason !== undefined) this.given++
  }

  /** We end it here, whatever the upstream has said, unless it is over anyway. */
  cut(): void {
    if (!this.isComplete) this.reason = 'length'
  }

  /** Nothing but the end mark can be missing. Of a vendor that puts a reason on every chunk, only a bare one is believed. */
  get isComplete(): boolean {
    return this.reason !== undefined && (this.isBare || this.given === 1)
  }
}
