import type { Fault } from '../test/faults/table/fault.ts'
import { faultsOf } from '../test/faults/table/faults.ts'
import type { Script } from '../test/faults/table/script.ts'
import { type Director, FaultyUpstream, type Visit } from '../test/faults/table/upstream.ts'
import type { Random } from '../test/ledger/property/random.ts'
import type { ProtocolName } from '../test/support/wire.ts'
import { UPSTREAMS } from './catalog.ts'

/** Of all requests; in a bad spell, all of them. */
const FAULTS_SHARE = 0.3
const SPELL_SHARE = 0.002
const SPELL_MS = 2_500
/** Who refuses a key, or wants a rest, is gone for long: too many of these, and nobody is left to ask. */
const RESTS_SHARE = 0.05
/** Of the requests that are to fail, decided by their heads alone. */
const EARLY_SHARE = 0.05
/** Nobody tells when the caller has read something; after this it has. */
const READ_MS = 50

/** Upstreams that go wrong by chance, in all ways of the table. */
export class Trouble implements Director {
  readonly upstream = new FaultyUpstream(this)
  /** How often each thing went wrong. */
  readonly counts = new Map<string, number>()
  private readonly random: Random
  private readonly faults = new Map<string, readonly Fault[]>()
  private readonly spells = new Map<string, number>()
  private isOver = false

  constructor(random: Random) {
    this.random = random
    for (const { name, hasOwnPort } of UPSTREAMS) if (hasOwnPort) this.upstream.openOwnPort(name)
  }

  /** From now on nothing goes wrong any more. */
  end(): void {
    this.isOver = true
  }

  onConnect(id: string): Script | undefined {
    if (!this.isDue(id)) return undefined
    return this.take(this.faultsFor('chat', false).filter(({ script }) => script.begins === 'at connect'))
  }

  /** A request that is to fail at its head is known by its head alone; the others are decided on when all is there. */
  onRequest({ id, protocol, body }: Visit): Script | undefined {
    const isEarly = body === undefined
    const faults = this.faultsFor(protocol, Boolean(body?.stream))
    const begins = isEarly ? 'at the head' : 'at the request'
    const possible = faults.filter(({ script, refuses }) => script.begins === begins && !refuses)
    const share = isEarly ? EARLY_SHARE : 1
    return this.random.chance(share) && this.isDue(id) ? this.take(possible) : undefined
  }

  hasRead(): Promise<unknown> {
    return Bun.sleep(READ_MS)
  }

  private isDue(id: string): boolean {
    if (this.isOver || UPSTREAMS.some(({ name, isSound }) => name === id && isSound)) return false
    if (this.random.chance(SPELL_SHARE)) this.spells.set(id, Date.now() + SPELL_MS)
    return (this.spells.get(id) ?? 0) > Date.now() || this.random.chance(FAULTS_SHARE)
  }

  private take(possible: readonly Fault[]): Script | undefined {
    const fault = this.random.pick(possible)
    if (fault.after !== 'works' && !this.random.chance(RESTS_SHARE)) return undefined
    const name = `${fault.name} ${fault.stage}`
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
    return fault.script
  }

  private faultsFor(upstream: ProtocolName, stream: boolean): readonly Fault[] {
    const name = `${upstream} ${stream}`
    const known = this.faults.get(name) ?? faultsOf({ upstream, stream })
    this.faults.set(name, known)
    return known
  }
}
