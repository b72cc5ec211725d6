import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FaultyUpstream } from '../test/faults/table/upstream.ts'
import type { Random } from '../test/ledger/property/random.ts'
import type { Duet } from '../test/support/duet.ts'
import type { Callers } from './callers.ts'
import { catalogText, UPSTREAMS } from './catalog.ts'

interface DisturbanceDeps {
  readonly duet: Duet
  readonly callers: Callers
  readonly upstream: FaultyUpstream
  /** The account that is always short of money. */
  readonly poor: string
  readonly random: Random
}

type Disturbance = 'reload' | 'faulty reload' | 'pause a channel' | 'refuse connections' | 'quiet' | 'top up'

const WEIGHTS: Readonly<Record<Disturbance, number>> = {
  reload: 4,
  'faulty reload': 1,
  'pause a channel': 2,
  'refuse connections': 2,
  quiet: 1,
  'top up': 3,
}

const EVERY_MS = 1_500
const SPELL_MS = 1_000
const TOP_UP = '0.002'

/** What operators and the world do while callers call. */
export class Disturbances {
  readonly counts = new Map<string, number>()
  private readonly deps: DisturbanceDeps
  private version = 1
  private isOver = false
  private readonly running: Promise<void>

  constructor(deps: DisturbanceDeps) {
    this.deps = deps
    this.running = this.run()
  }

  async end(): Promise<void> {
    this.isOver = true
    await this.running
  }

  private async run(): Promise<void> {
    while (!this.isOver) {
      await Bun.sleep(EVERY_MS)
      const what = this.deps.random.weighted(WEIGHTS)
      this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
      await this.disturb(what)
    }
  }

  private async disturb(what: Disturbance): Promise<void> {
    const { duet, callers, upstream, poor, random } = this.deps
    switch (what) {
      case 'reload':
        return this.reload(catalogText(upstream, ++this.version))
      case 'faulty reload':
        return this.reload(`${catalogText(upstream, this.version)}  - { name: oops`)
      case 'pause a channel': {
        const path = `/api/channels/${random.pick(UPSTREAMS).name}/paused`
        await duet.admin('PUT', path, { paused: true })
        await Bun.sleep(SPELL_MS)
        await duet.admin('PUT', path, { paused: false })
        return
      }
      case 'refuse connections':
        for (const { name, hasOwnPort } of UPSTREAMS) if (hasOwnPort) upstream.refuse(name)
        await Bun.sleep(SPELL_MS)
        for (const { name, hasOwnPort } of UPSTREAMS) if (hasOwnPort) upstream.reopen(name)
        return
      case 'quiet':
        return callers.rest(SPELL_MS)
      case 'top up':
        await duet.admin('POST', `/api/accounts/${poor}/topups`, { amount: TOP_UP })
    }
  }

  private reload(text: string): void {
    const { duet } = this.deps
    writeFileSync(join(duet.folder, 'duet.yaml'), text)
    process.kill(duet.pid, 'SIGHUP')
  }
}
