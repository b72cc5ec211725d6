import { createHash } from 'node:crypto'

const LEGAL = /^[A-Za-z0-9_-]+$/

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/**
 * Tool-call ids travel through histories of several vendors. One that the receiving dialect would refuse is made legal
 * in a way that gives the same result for the call and for its answer.
 */
export function legalToolId(id: string, lengthMax: number): string {
  if (id.length <= lengthMax && LEGAL.test(id)) return id
  const readable = id.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, lengthMax - 9)
  return `${readable}_${digest(id).slice(0, 8)}`
}

/** Vendors refuse e-mail addresses and long values here; a hash still tells one user from another. */
export const legalUserId = (id: string): string => (id.length <= 64 && LEGAL.test(id) ? id : digest(id))

/** Names for the `x-duet-dropped` header: a caller's keys may hold anything, a header may not. */
export function droppedNames(names: Iterable<string>): string[] {
  const safe = [...names].map(name => (/^[a-z0-9_.-]{1,64}$/i.test(name) ? name : 'unknown'))
  return [...new Set(safe)].toSorted().slice(0, 20)
}
