/** Where connections lead. */
export interface Origin {
  /** The same for all that may share connections. */
  readonly name: string
  readonly host: string
  readonly port: number
  readonly isTls: boolean
}

/** An address, taken apart once. */
export interface Target {
  readonly url: string
  readonly origin: Origin
  /** As the `Host` header names it. */
  readonly authority: string
  readonly path: string
}

/** As many as there are channels and protocols, and room for those that were changed. */
const TARGETS_MAX = 10_000
const targets = new Map<string, Target>()

export function targetOf(url: string): Target {
  const known = targets.get(url)
  if (known) return known
  const { protocol, hostname, port, host, pathname, search, origin } = new URL(url)
  const isTls = protocol === 'https:'
  if (!isTls && protocol !== 'http:') throw new Error(`An upstream cannot be called by ${protocol}`)
  const target = {
    url,
    origin: {
      name: origin,
      // An address of IPv6 stands in brackets only within a URL.
      host: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
      port: Number(port || (isTls ? 443 : 80)),
      isTls,
    },
    authority: host,
    path: pathname + search,
  }
  if (targets.size >= TARGETS_MAX) targets.clear()
  targets.set(url, target)
  return target
}
