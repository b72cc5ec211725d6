/** What names a call in a fragment of it. */
export interface CallName {
  readonly index: unknown
  readonly id: string
  readonly name: string
}

/** The call that a fragment belongs to, undefined where it begins another. */
export function findCall<T extends Omit<CallName, 'name'>>(
  calls: readonly T[],
  { index, id, name }: CallName,
): T | undefined {
  const known = calls.findLast(call =>
    typeof index === 'number' ? call.index === index : id === '' ? name === '' : call.id === id,
  )
  // Some vendors number every call 0: another id together with a name is another call.
  const isAnother = known && id !== '' && known.id !== '' && known.id !== id && name !== ''
  return isAnother ? undefined : known
}
