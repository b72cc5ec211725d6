import type { Case } from './cases.ts'
import type { Script } from './script.ts'
import { type Director, FaultyUpstream, type Visit } from './upstream.ts'

/** Long enough for any machine; a caller who never gets there is found by what it sees. */
const READ_MS_MAX = 5_000

interface Armed {
  readonly script: Script
  readonly read: PromiseWithResolvers<void>
}

/** Lets upstreams go wrong one request at a time. */
export class Stage implements Director {
  readonly upstream = new FaultyUpstream(this)
  private readonly armed = new Map<string, Armed>()
  private readonly visits = new Map<string, number>()

  constructor(cases: readonly Case[]) {
    for (const { id, script, refuses, spoils } of cases) {
      if (refuses || spoils || script.begins === 'at connect') this.upstream.openOwnPort(id)
    }
  }

  /** From now on this one goes wrong. */
  arm({ id, script, refuses }: Case): void {
    this.armed.set(id, { script, read: Promise.withResolvers() })
    if (refuses) this.upstream.refuse(id)
  }

  /** From now on it answers as it should. */
  disarm({ id, refuses }: Case): void {
    this.read(id)
    this.armed.delete(id)
    if (refuses) this.upstream.reopen(id)
  }

  /** The caller has what it can have. */
  read(id: string): void {
    this.armed.get(id)?.read.resolve()
  }

  onConnect(id: string): Script | undefined {
    const script = this.armed.get(id)?.script
    return script?.begins === 'at connect' ? script : undefined
  }

  onRequest({ id, body }: Visit): Script | undefined {
    if (body !== undefined) this.visits.set(id, this.visitsTo(id) + 1)
    return this.armed.get(id)?.script
  }

  /** How many requests have come there. */
  visitsTo(id: string): number {
    return this.visits.get(id) ?? 0
  }

  hasRead(id: string): Promise<unknown> {
    return Promise.race([this.armed.get(id)?.read.promise, Bun.sleep(READ_MS_MAX)])
  }
}
