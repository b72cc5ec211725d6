import { randomOfEpoch } from '../ledger/property/random.ts'
import { fuzzAnswer } from './answers.ts'
import { fuzzRequest } from './requests.ts'

/** What a worker is told: which inputs, and where to say how far it has come. */
export interface Task {
  readonly kind: 'requests' | 'answers'
  readonly seed: number
  readonly from: number
  readonly to: number
  readonly progress: Int32Array
}

/** What it says at its end. */
export interface Outcome {
  /** Undefined where every input was taken or refused as it should be. */
  readonly fault: string | undefined
}

const FUZZERS = { requests: fuzzRequest, answers: fuzzAnswer }

declare const self: Worker

self.onmessage = ({ data }: MessageEvent<Task>) => {
  const outcome: Outcome = { fault: run(data) }
  self.postMessage(outcome)
}

function run({ kind, seed, from, to, progress }: Task): string | undefined {
  for (let place = from; place < to; place++) {
    Atomics.store(progress, 0, place)
    try {
      FUZZERS[kind](randomOfEpoch(seed, place))
    } catch (error) {
      return (error as Error).message
    }
  }
  return undefined
}
