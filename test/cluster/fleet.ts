import { type Duet, type DuetOptions, startDuet } from '../support/duet.ts'

/** Several replicas on one database. */
export class Fleet {
  private readonly replicas: Duet[]

  private constructor(replicas: Duet[]) {
    this.replicas = replicas
  }

  /** All at once, as they would be in a cluster: on an empty database each of them finds that nothing is there yet. */
  static async start(count: number, options: DuetOptions): Promise<Fleet> {
    return new Fleet(await Promise.all(Array.from({ length: count }, () => startDuet(options))))
  }

  /** Of one of them, another one each time. */
  get url(): string {
    return this.any.url
  }

  get any(): Duet {
    const replica = this.replicas[Math.floor(Math.random() * this.replicas.length)]
    if (!replica) throw new Error('there is no replica')
    return replica
  }

  /** `kill -9`; callers find nobody there for a while, and then a new one. */
  async killOne(awayMs: number): Promise<void> {
    const victim = this.any
    await victim.stop('SIGKILL')
    await Bun.sleep(awayMs)
    const successor = await victim.restart()
    this.replicas[this.replicas.indexOf(victim)] = successor
  }

  /** It does nothing for a while, and knows nothing of it. Callers who meet it wait. */
  async freezeOne(ms: number): Promise<void> {
    const { pid } = this.any
    process.kill(pid, 'SIGSTOP')
    await Bun.sleep(ms)
    process.kill(pid, 'SIGCONT')
  }

  /** Returns their exit codes. */
  stop(): Promise<readonly number[]> {
    return Promise.all(this.replicas.map(replica => replica.stop()))
  }
}
