import type { Running } from '../contestants/contestant.ts'
import { type Mode, startLoad } from '../machine/load.ts'
import { residentBytes } from '../machine/processes.ts'
import type { Shape } from '../requests.ts'
import { type Bout, type Figures, Unreported, type Workload } from './workload.ts'

const SMALL: Shape = { protocol: 'chat', behaviour: 'whole-1000', bytes: 1_000 }
/** Translated, and long enough that everyone leaves in the middle. */
const STREAM: Shape = { protocol: 'messages', behaviour: 'paced-600-100', bytes: 1_000 }
const MEGABYTE = 1024 * 1024
const IDLE_MS = 5_000
/** After work, until garbage was collected: within seconds it may be half of all memory, or nothing. */
const REST_MS = 20_000
const QUICK_REST_MS = 2_000

const [FEW_REQUESTS, ALL_REQUESTS] = [100_000, 500_000]
const [FEW_ABORTED, ALL_ABORTED] = [10_000, 50_000]
const QUICK_SHARE = 0.02
const CHUNK_SECONDS = 4

export const idleMemory: Workload = {
  id: 'memory-idle',
  title: 'Idle memory',
  about: `Resident, ${IDLE_MS / 1000} seconds after the first answer; then again after the console's first page was fetched with all that it names.`,
  columns: [
    { figure: 'idle', heading: 'MB', digits: 1 },
    { figure: 'withPage', heading: 'MB after a page of the console', digits: 1 },
  ],
  entrants: (['nginx', 'bare', 'duet', 'portkey'] as const).map(contestant => ({ contestant, shape: SMALL })),
  isShared: false,
  rounds: 1,
  async measure(bout) {
    const running = await bout.begin()
    const idle = await megabytesAfter(running, IDLE_MS)
    if (!bout.entrant.contestant.name.startsWith('duet')) {
      await bout.finish(running)
      return { idle }
    }
    await visitConsole(new URL(running.ask(SMALL).url).origin)
    const withPage = await megabytesAfter(running, IDLE_MS)
    await bout.finish(running)
    return { idle, withPage }
  },
}

export const memoryAfterWork: Workload = {
  id: 'memory-work',
  title: 'Memory after work',
  about: `Resident megabytes of one process, ${REST_MS / 1000} seconds after each part of its work: small chats, then streams that their callers leave after the first frame.`,
  columns: [
    { figure: 'fewRequests', heading: `after ${FEW_REQUESTS.toLocaleString('en')} requests`, digits: 1 },
    { figure: 'allRequests', heading: `after ${ALL_REQUESTS.toLocaleString('en')}`, digits: 1 },
    { figure: 'fewAborted', heading: `and ${FEW_ABORTED.toLocaleString('en')} aborted streams`, digits: 1 },
    { figure: 'allAborted', heading: `and ${ALL_ABORTED.toLocaleString('en')}`, digits: 1 },
  ],
  entrants: [{ contestant: 'duet', shape: SMALL }],
  isShared: false,
  rounds: 1,
  async measure(bout) {
    const share = bout.isQuick ? QUICK_SHARE : 1
    const running = await bout.begin()
    const rested = () => megabytesAfter(running, bout.isQuick ? QUICK_REST_MS : REST_MS)
    await request(bout, running, share * FEW_REQUESTS)
    const fewRequests = await rested()
    await request(bout, running, share * (ALL_REQUESTS - FEW_REQUESTS))
    const allRequests = await rested()
    await abort(bout, running, share * FEW_ABORTED)
    const fewAborted = await rested()
    await abort(bout, running, share * (ALL_ABORTED - FEW_ABORTED))
    const allAborted = await rested()
    await bout.finish(running)
    return { fewRequests, allRequests, fewAborted, allAborted } satisfies Figures
  },
}

/** At least so many. */
async function request(bout: Bout, running: Running, count: number): Promise<void> {
  const settings = { connections: 32, seconds: bout.isQuick ? 1 : CHUNK_SECONDS }
  for (let done = 0; done < count; ) done += await load(bout, running, { mode: 'plain', shape: SMALL, settings })
}

async function abort(bout: Bout, running: Running, count: number): Promise<void> {
  await load(bout, running, { mode: 'abort', shape: STREAM, settings: { connections: 64, count } })
}

interface Work {
  readonly mode: Mode
  readonly shape: Shape
  readonly settings: Readonly<Record<string, number>>
}

async function load({ placement }: Bout, running: Running, { mode, shape, settings }: Work): Promise<number> {
  const { requests, errors, firstError } = await startLoad(mode, running.ask(shape), settings, placement.load).report
  if (errors > 0) throw new Unreported(`${errors} requests failed: ${firstError}`)
  return requests
}

async function megabytesAfter({ pid }: Running, restMs: number): Promise<number> {
  await Bun.sleep(restMs)
  return pid === undefined ? 0 : residentBytes(pid) / MEGABYTE
}

/** As a browser would: the page, then its styles and scripts. */
async function visitConsole(origin: string): Promise<void> {
  const headers = { accept: 'text/html', 'accept-encoding': 'br' }
  const page = await fetch(`${origin}/console`, { headers })
  const assets = [...(await page.text()).matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, path]) => path)
  if (assets.length === 0) throw new Error(`${origin}/console names no assets: status ${page.status}`)
  for (const path of assets) await (await fetch(origin + path, { headers })).arrayBuffer()
}
