/** Small choices of one browser. Where storage is refused they last as long as the page. */

export function kept(name: string): string | null {
  try {
    return localStorage.getItem(`duet.${name}`)
  } catch {
    return null
  }
}

export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`duet.${name}`, value)
  } catch {
    // Nothing is lost but a convenience.
  }
}
