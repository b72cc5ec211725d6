import { askDirectly } from './contestants/direct.ts'
import { type Cores, PINNED } from './machine/cores.ts'
import { startLoad } from './machine/load.ts'
import { type Mock, startMock } from './machine/mock.ts'
import type { Shape } from './requests.ts'

/** Requests a second straight to a mock that shares its core with the load: what each core can do right now. */
export interface Baseline {
  readonly gateway: number
  readonly load: number
}

const SHAPE: Shape = { protocol: 'chat', behaviour: 'whole-1000', bytes: 1_000 }
const SETTINGS = { connections: 32, warmup: 0.1, seconds: 0.3 }
/** The best of a few: what lasts is looked for, not a hiccup. */
const TRIES = 3
/** A machine that is this much faster or slower at the end of a round was not the same machine all the time. */
const CHANGE_MAX = 0.25

/** Always within a core, because between two it depends on who happens to sleep when the other one writes. */
export class Yardstick {
  private readonly mocks: Readonly<Record<keyof Baseline, Mock>>

  private constructor(mocks: Readonly<Record<keyof Baseline, Mock>>) {
    this.mocks = mocks
  }

  static async start(): Promise<Yardstick> {
    return new Yardstick({ gateway: await startMock(PINNED.gateway), load: await startMock(PINNED.load) })
  }

  async measure(): Promise<Baseline> {
    const { gateway, load } = this.mocks
    return { gateway: await bestRate(gateway, PINNED.gateway), load: await bestRate(load, PINNED.load) }
  }

  async stop(): Promise<void> {
    for (const mock of Object.values(this.mocks)) await mock.stop()
  }
}

async function bestRate(mock: Mock, cores: Cores): Promise<number> {
  const rates: number[] = []
  for (let tried = 0; tried < TRIES; tried++) {
    const load = startLoad('plain', askDirectly(mock.url, SHAPE), SETTINGS, cores)
    const { requests, seconds, errors, firstError } = await load.report
    if (errors > 0) throw new Error(`The mock upstream fails: ${firstError}`)
    rates.push(requests / seconds)
  }
  return Math.max(...rates)
}

export function hasMoved(before: Baseline, after: Baseline): boolean {
  const change = (core: keyof Baseline) => Math.abs(after[core] / before[core] - 1)
  return change('gateway') > CHANGE_MAX || change('load') > CHANGE_MAX
}
