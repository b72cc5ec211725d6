import type { Announcement } from './app.ts'
import type { Family } from './telemetry/prometheus.ts'

/** What a worker and the process that started it say to each other. */

export type ToWorker =
  /** Finish what is under way, and end. */
  | { readonly type: 'stop' }
  /** Do not wait for it any longer. */
  | { readonly type: 'hurry' }
  | { readonly type: 'reload' }
  | FiguresWanted
  | Figures

export type FromWorker =
  | { readonly type: 'started'; readonly app: Announcement }
  /** It will never start: why, for people. */
  | { readonly type: 'failed'; readonly problem: string }
  | FiguresWanted
  | Figures

/** A worker is asked for its own; the other one for those of all the others. */
interface FiguresWanted {
  readonly type: 'figures-wanted'
  readonly id: number
}

interface Figures {
  readonly type: 'figures'
  readonly id: number
  readonly of: readonly (readonly Family[])[]
}

/** Questions that were asked, until they are answered or too old. */
export class Questions<Answer> {
  private readonly waiting = new Map<number, (answer: Answer | undefined) => void>()
  private last = 0

  /** Undefined where nobody answers in time. */
  ask(withinMs: number, send: (id: number) => void): Promise<Answer | undefined> {
    const id = ++this.last
    return new Promise(resolve => {
      const end = (answer: Answer | undefined) => {
        clearTimeout(timer)
        this.waiting.delete(id)
        resolve(answer)
      }
      const timer = setTimeout(end, withinMs, undefined)
      this.waiting.set(id, end)
      send(id)
    })
  }

  answer(id: number, answer: Answer): void {
    this.waiting.get(id)?.(answer)
  }
}
