import { newHex } from '../core/ids.ts'

const LEGAL = /^[A-Za-z0-9_-]+$/

const digest = (text: string): string => Bun.SHA256.hash(text, 'hex')

/**
 * Ids and names travel through histories of several vendors. One that the receiving dialect would refuse is made legal
 * in a way that gives the same result wherever it stands.
 */
export function legalName(name: string, lengthMax: number): string {
  if (name.length <= lengthMax && LEGAL.test(name)) return name
  const readable = name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, lengthMax - 9)
  return `${readable}_${digest(name).slice(0, 8)}`
}

/** Names as one upstream takes them, and the way back. */
export class NameBook {
  /** The caller's names of those that had to be changed. */
  readonly renamed = new Map<string, string>()
  private readonly lengthMax: number

  constructor(lengthMax: number) {
    this.lengthMax = lengthMax
  }

  legal(name: string): string {
    const legal = legalName(name, this.lengthMax)
    if (legal !== name) this.renamed.set(legal, name)
    return legal
  }
}

/** For a call that its vendor gave no id: it must be answerable. */
export const newCallId = (): string => `call_${newHex(12)}`

/** Vendors refuse e-mail addresses and long values here; a hash still tells one user from another. */
export const legalUserId = (id: string): string => (id.length <= 64 && LEGAL.test(id) ? id : digest(id))

/** Names for the `x-duet-dropped` header: a caller's keys may hold anything, a header may not. */
export function droppedNames(names: Iterable<string>): string[] {
  const safe = [...names].map(name => (/^[a-z0-9_.-]{1,64}$/i.test(name) ? name : 'unknown'))
  return [...new Set(safe)].toSorted().slice(0, 20)
}
