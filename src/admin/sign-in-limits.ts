import { Attempts } from './attempts.ts'

const QUARTER_HOUR_MS = 15 * 60_000

/** One try to sign in. Whoever says nothing of how it ended has failed. */
export interface Attempt {
  succeeded(): void
  /** The password was never looked at. */
  takenBack(): void
}

/**
 * How often somebody may be wrong. The narrow limit is on a name together with where it is tried from: nobody shuts
 * others out by failing in their name. The wide ones stop those who try from everywhere, or everybody's name.
 */
export class SignInLimits {
  private readonly both: Attempts
  private readonly names: Attempts
  private readonly networks: Attempts

  constructor(clock: () => number) {
    const within = (failuresMax: number) => new Attempts({ failuresMax, windowMs: QUARTER_HOUR_MS }, clock)
    this.both = within(10)
    this.names = within(200)
    // A whole office may share an address.
    this.networks = within(200)
  }

  /** Before anything expensive is done. */
  begin(name: string, address: string): Attempt {
    const [who, network] = [name.toLowerCase(), networkOf(address)]
    const both = `${network} ${who}`
    this.both.refuseIfTooMany(both)
    this.names.refuseIfTooMany(who)
    this.networks.refuseIfTooMany(network)
    this.both.begin(both)
    this.names.begin(who)
    this.networks.begin(network)
    const takeBackOthers = () => {
      this.names.takeBack(who)
      this.networks.takeBack(network)
    }
    return {
      succeeded: () => {
        this.both.succeeded(both)
        takeBackOthers()
      },
      takenBack: () => {
        this.both.takeBack(both)
        takeBackOthers()
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
