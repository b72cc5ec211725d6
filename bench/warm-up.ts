import type { Running } from './contestants/contestant.ts'
import type { Cores } from './machine/cores.ts'
import { startLoad } from './machine/load.ts'
import type { Shape } from './requests.ts'

const SETTINGS = { connections: 32, seconds: 1.5 }
const TURNS_MAX = 8
/** One that gets faster by less than this is as fast as it will be. */
const GAIN_MIN = 0.05

/** Until the runtime has compiled what is used often: nobody is measured cold, however long that takes. */
export async function warmUp(running: Running, shape: Shape, cores: Cores): Promise<void> {
  let best = 0
  for (let turn = 0; turn < TURNS_MAX && running.pid !== undefined; turn++) {
    const { requests } = await startLoad('plain', running.ask(shape), SETTINGS, cores).report
    if (turn > 0 && requests < best * (1 + GAIN_MIN)) return
    best = Math.max(best, requests)
  }
}
