/**
 * The status line and the headers of an answer. Few of them are ever asked for, so they are looked up in the text instead
 * of being taken apart: a fifth of what a `Headers` takes.
 */
export class Head {
  readonly status: number
  readonly isOldHttp: boolean
  private readonly text: string
  private readonly lower: string

  /** From everything up to the empty line, as Latin-1. */
  constructor(text: string) {
    const [, minor, status] = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |\r\n|$)/.exec(text) ?? []
    if (status === undefined) throw new Error('The upstream does not speak HTTP/1.1')
    this.status = Number(status)
    this.isOldHttp = minor === '0'
    this.text = text
    this.lower = text.toLowerCase()
  }

  /** The first value under a name in small letters; null where there is none, as `Headers` has it. */
  get(name: string): string | null {
    const place = this.placeOf(name, 0)
    return place === -1 ? null : this.valueAt(place)
  }

  /** All values under a name: what frames an answer must not be said twice, in two ways. */
  all(name: string): readonly string[] {
    const found: string[] = []
    for (let place = this.placeOf(name, 0); place !== -1; place = this.placeOf(name, place)) {
      found.push(this.valueAt(place))
    }
    return found
  }

  private placeOf(name: string, from: number): number {
    const place = this.lower.indexOf(`\n${name}:`, from)
    return place === -1 ? -1 : place + name.length + 2
  }

  private valueAt(place: number): string {
    const end = this.text.indexOf('\n', place)
    return this.text.slice(place, end === -1 ? undefined : end).trim()
  }
}
