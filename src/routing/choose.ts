import { type Channel, isUsable, type UsableKey } from '../core/catalog.ts'

/** Where one call goes, and with which credential; undefined where the upstream wants none. */
export interface Route {
  readonly channel: Channel
  readonly key: UsableKey | undefined
}

/** What is known about upstreams at this moment. */
export interface Availability {
  admitsChannel(channel: string): boolean
  admitsKey(channel: string, keyId: string): boolean
  /** How long it will be left alone. */
  restMs(route: Route): number
}

/** What has failed for this one request and is not tried again. */
export interface Excluded {
  readonly channels: ReadonlySet<string>
  /** By `keyPlace`. */
  readonly keys: ReadonlySet<string>
}

/** A key where it is used: two upstreams may know the same one, and one of them no longer. Names of channels have no slash. */
export const keyPlace = (channel: string, keyId: string): string => `${channel}/${keyId}`

export const NONE_EXCLUDED: Excluded = { channels: new Set(), keys: new Set() }

export interface Choice {
  /** Those that serve the model. */
  readonly channels: readonly Channel[]
  readonly availability: Availability
  readonly excluded: Excluded
  /** From 0 up to, but not, 1: decides among channels of equal priority. */
  readonly dice: number
  /** Counts up with every call of a channel: its keys take turns. */
  turnOf(channel: string): number
}

/** The route of one call: the lowest priority of those that can be asked, then by weight. */
export function choose({ channels, availability, excluded, dice, turnOf }: Choice): Route | undefined {
  const channel = byWeight(foremost(channels, availability, excluded), dice)
  if (!channel) return undefined
  const keys = openKeys(channel, availability, excluded)
  return { channel, key: keys[turnOf(channel.name) % keys.length] }
}

/** Without a look at anyone's health: what a call would be, if all is well. */
export const chooseBlindly = (channels: readonly Channel[]): Route | undefined =>
  choose({ channels, availability: EVERYONE, excluded: NONE_EXCLUDED, dice: 0, turnOf: () => 0 })

/** How long it takes until the first of them may be asked again; undefined where only a person can change that. */
export function soonestMs(channels: readonly Channel[], availability: Availability): number | undefined {
  const rests = channels
    .filter(isUsable)
    .flatMap(channel => (channel.keys.length === 0 ? [undefined] : channel.usableKeys).map(key => ({ channel, key })))
    .map(route => availability.restMs(route))
  return rests.length === 0 ? undefined : Math.min(...rests)
}

const EVERYONE: Availability = { admitsChannel: () => true, admitsKey: () => true, restMs: () => 0 }

/** Of those that can be asked, the ones of the lowest priority. */
function foremost(channels: readonly Channel[], availability: Availability, excluded: Excluded): readonly Channel[] {
  let found: Channel[] = []
  for (const channel of channels) {
    const [first = channel] = found
    if (channel.priority > first.priority || !isOpen(channel, availability, excluded)) continue
    if (channel.priority < first.priority) found = []
    found.push(channel)
  }
  return found
}

function isOpen(channel: Channel, availability: Availability, excluded: Excluded): boolean {
  if (!isUsable(channel) || excluded.channels.has(channel.name) || !availability.admitsChannel(channel.name))
    return false
  return channel.keys.length === 0 || channel.usableKeys.some(key => isOpenKey(channel, key, availability, excluded))
}

const openKeys = (channel: Channel, availability: Availability, excluded: Excluded): UsableKey[] =>
  channel.usableKeys.filter(key => isOpenKey(channel, key, availability, excluded))

const isOpenKey = ({ name }: Channel, { id }: UsableKey, availability: Availability, { keys }: Excluded): boolean =>
  !keys.has(keyPlace(name, id)) && availability.admitsKey(name, id)

function byWeight(channels: readonly Channel[], dice: number): Channel | undefined {
  if (channels.length <= 1) return channels[0]
  const total = channels.reduce((sum, { weight }) => sum + weight, 0)
  let point = dice * total
  for (const channel of channels) {
    point -= channel.weight
    if (point < 0) return channel
  }
  return channels.at(-1)
}
