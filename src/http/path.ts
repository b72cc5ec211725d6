/**
 * Official clients append `/v1/messages` to a base address that may end in `/v1` already: the prefix may be missing or
 * repeated, on every route, and so may a slash at the end.
 */
export function routePath(pathname: string): string {
  let path = pathname
  while (path === '/v1' || path.startsWith('/v1/')) path = path.slice(3)
  return withoutTrailingSlashes(path)
}

/** A loop, because the obvious pattern takes quadratic time on a path of many slashes. */
export function withoutTrailingSlashes(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}

/** A part of a path as it was meant; one that is no valid escape means itself. */
export function decodePart(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export interface Address {
  readonly path: string
  /** What follows the path: empty, or a question mark and all after it. */
  readonly search: string
}

/** Path and query as they were requested. A request without a valid `Host` (HTTP/1.0) comes without an origin. */
export function addressOf(url: string): Address {
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  const end = url.indexOf('?', start)
  return end === -1 ? { path: url.slice(start), search: '' } : { path: url.slice(start, end), search: url.slice(end) }
}
