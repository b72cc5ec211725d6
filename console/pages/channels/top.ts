/** A channel is a page of its own, not a panel beside the list: it is read from its beginning. */
export function toTop(): void {
  document.getElementById('content')?.scrollTo({ top: 0 })
  scrollTo({ top: 0 })
}
