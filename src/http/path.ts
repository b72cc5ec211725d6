/**
 * Official clients append `/v1/messages` to a base address that may end in `/v1` already: the prefix may be missing or
 * repeated, on every route, and so may a slash at the end.
 */
export function routePath(pathname: string): string {
  let path = pathname
  while (path === '/v1' || path.startsWith('/v1/')) path = path.slice(3)
  while (path.endsWith('/')) path = path.slice(0, -1)
  return path
}

/** The path of a URL without the query, as it was requested: `new URL` would resolve dots and decode. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  const end = url.indexOf('?', start)
  return end === -1 ? url.slice(start) : url.slice(start, end)
}
