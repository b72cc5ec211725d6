/** Words to put before a command, so that it runs on these cores and no others. */
export type Cores = readonly string[]

/** Who runs where. */
export interface Placement {
  readonly name: 'pinned' | 'unpinned'
  readonly gateway: Cores
  /** The load generator and the mock upstream. */
  readonly load: Cores
}

const GATEWAY_CORE = '0'
const LOAD_CORE = '1'
const BOTH = `${GATEWAY_CORE},${LOAD_CORE}`

/** One core for the gateway, one for all around it: what a figure says is what one core can do. */
export const PINNED: Placement = {
  name: 'pinned',
  gateway: ['taskset', '-c', GATEWAY_CORE],
  load: ['taskset', '-c', LOAD_CORE],
}

/** Everyone on the same two cores: the scheduler decides. */
export const UNPINNED: Placement = {
  name: 'unpinned',
  gateway: ['taskset', '-c', BOTH],
  load: ['taskset', '-c', BOTH],
}

/** Wherever this program itself may run. */
export const ANYWHERE: Placement = { name: 'unpinned', gateway: [], load: [] }

/** This program has next to nothing to do while it measures, and does that beside the load, never beside a gateway. */
export function stayAwayFromGateway(): void {
  Bun.spawnSync(['taskset', '-a', '-c', '-p', LOAD_CORE, String(process.pid)])
}
