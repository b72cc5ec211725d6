import { describe, expect, test } from 'bun:test'
import type { Outcome, Task } from './worker.ts'

/*
 * DUET_SEED=1234    other inputs than the usual ones
 * DUET_CASE=17      only that one of them; a run that fails says both
 * DUET_INPUTS=5000  fewer or more of each kind
 */
const { DUET_SEED, DUET_CASE, DUET_INPUTS } = process.env
const seed = Number(DUET_SEED ?? 1)
const from = Number(DUET_CASE ?? 0)
const to = DUET_CASE === undefined ? Number(DUET_INPUTS ?? 50_000) : from + 1

/** No input takes a hundredth of this, however busy the machine: whoever is silent for so long will never speak again. */
const SILENCE_MS_MAX = 60_000
const LOOK_MS = 1_000
const TIME_MS_MAX = 600_000

describe('whatever comes in is understood or refused, and what goes out is whole', () => {
  for (const kind of ['requests', 'answers'] as const) {
    test(`of ${to - from} ${kind}`, async () => expect(await fuzzed(kind)).toBeUndefined(), TIME_MS_MAX)
  }
})

/** In a thread of its own, so that one that hangs can be told from one that is busy. */
async function fuzzed(kind: Task['kind']): Promise<string | undefined> {
  const worker = new Worker(new URL('./worker.ts', import.meta.url).href)
  const progress = new Int32Array(new SharedArrayBuffer(4))
  const place = () => `DUET_SEED=${seed} DUET_CASE=${Atomics.load(progress, 0)}`
  let watch: ReturnType<typeof setInterval> | undefined
  try {
    return await new Promise((resolve, reject) => {
      worker.onmessage = ({ data: { fault } }: MessageEvent<Outcome>) => resolve(fault && `${place()}\n${fault}`)
      worker.onerror = ({ message }) => reject(new Error(`${place()}\n${message}`))
      watch = watchdog(progress, () => reject(new Error(`${place()} takes for ever`)))
      const task: Task = { kind, seed, from, to, progress }
      worker.postMessage(task)
    })
  } finally {
    clearInterval(watch)
    worker.terminate()
  }
}

function watchdog(progress: Int32Array, bark: () => void): ReturnType<typeof setInterval> {
  let last = -1
  let movedAt = Date.now()
  return setInterval(() => {
    const place = Atomics.load(progress, 0)
    if (place !== last) movedAt = Date.now()
    last = place
    if (Date.now() - movedAt > SILENCE_MS_MAX) bark()
  }, LOOK_MS)
}
