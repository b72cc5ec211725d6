import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Contestant, Running, Stage } from './contestants/contestant.ts'
import type { Placement } from './machine/cores.ts'
import { type Mock, startMock } from './machine/mock.ts'
import type { Shape } from './requests.ts'
import { warmUp } from './warm-up.ts'

/** One placement: the mock upstream, and whoever runs beside it. Everything in it ends with it. */
export class Arena {
  readonly placement: Placement
  readonly mock: Mock
  private readonly folder = mkdtempSync(join(tmpdir(), 'duet-bench-'))
  private readonly shared = new Map<Contestant, Running>()
  private readonly warm = new Set<string>()
  private stages = 0

  private constructor(placement: Placement, mock: Mock) {
    process.on('exit', this.removeFolder)
    this.placement = placement
    this.mock = mock
  }

  static async open(placement: Placement): Promise<Arena> {
    return new Arena(placement, await startMock(placement.load))
  }

  /** A new one, in a folder of its own. */
  start(contestant: Contestant): Promise<Running> {
    return contestant.start(this.newStage())
  }

  /** The one that everyone in the arena asks, warm for what it is asked. */
  async running(contestant: Contestant, shape: Shape): Promise<Running> {
    const running = this.shared.get(contestant) ?? (await this.start(contestant))
    this.shared.set(contestant, running)
    const what = JSON.stringify([contestant.name, shape])
    if (!this.warm.has(what)) await warmUp(running, shape, this.placement.load)
    this.warm.add(what)
    return running
  }

  newStage(): Stage {
    const folder = join(this.folder, String(++this.stages))
    mkdirSync(folder)
    return { upstream: this.mock.url, placement: this.placement, folder }
  }

  async close(): Promise<void> {
    for (const running of this.shared.values()) await running.stop()
    await this.mock.stop()
    process.off('exit', this.removeFolder)
    this.removeFolder()
  }

  private readonly removeFolder = (): void => rmSync(this.folder, { recursive: true, force: true })
}
