import type { Counting } from './attempt-counts.ts'
import { Attempts } from './attempts.ts'

const QUARTER_HOUR_MS = 15 * 60_000

/** One try to sign in. Whoever says nothing of how it ended has failed. */
export interface Attempt {
  succeeded(): Promise<void>
  /** The password was never looked at. */
  takenBack(): Promise<void>
}

/**
 * How often somebody may be wrong. The narrow limit is on a name together with where it is tried from: nobody shuts
 * others out by failing in their name. The wide ones stop those who try from everywhere, or everybody's name.
 */
export class SignInLimits {
  private readonly both: Attempts
  private readonly names: Attempts
  private readonly networks: Attempts

  constructor(counting: Counting) {
    const within = (failuresMax: number, kind: string) =>
      new Attempts({ failuresMax, windowMs: QUARTER_HOUR_MS }, counting(`sign-in ${kind}`))
    this.both = within(10, 'both')
    this.names = within(200, 'name')
    // A whole office may share an address.
    this.networks = within(200, 'network')
  }

  /** Before anything expensive is done. */
  async begin(name: string, address: string): Promise<Attempt> {
    const [who, network] = [name.toLowerCase(), networkOf(address)]
    const both = `${network} ${who}`
    await this.both.begin(both)
    await this.names.begin(who).catch(async refusal => {
      await this.both.takeBack(both)
      throw refusal
    })
    await this.networks.begin(network).catch(async refusal => {
      await this.both.takeBack(both)
      await this.names.takeBack(who)
      throw refusal
    })
    const takeBackOthers = async () => {
      await this.names.takeBack(who)
      await this.networks.takeBack(network)
    }
    return {
      succeeded: async () => {
        await this.both.succeeded(both)
        await takeBackOthers()
      },
      takenBack: async () => {
        await this.both.takeBack(both)
        await takeBackOthers()
      },
    }
  }
}

const GROUPS = 8
const NETWORK_GROUPS = 4

/** Of IPv6 everyone has a whole network of addresses, its first half. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1)
  const [head = '', tail] = address.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail ? tail.split(':') : []
  const between = tail === undefined ? [] : Array<string>(Math.max(0, GROUPS - before.length - after.length)).fill('0')
  return [...before, ...between, ...after].slice(0, NETWORK_GROUPS).join(':')
}
