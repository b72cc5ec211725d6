/**
 * Names a deposit before it is sent: the server applies a name once, so that a second click or a second try after a
 * broken connection adds nothing. Not `randomUUID`, which browsers have on secure pages only.
 */
export function newSource(): string {
  const random = crypto.getRandomValues(new Uint8Array(12))
  return `console-${Array.from(random, byte => byte.toString(16).padStart(2, '0')).join('')}`
}
