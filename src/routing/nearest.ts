const SUGGESTIONS_MAX = 3
/** Longer names are no typing errors, and comparing them costs the product of the lengths. */
const NAME_CHARACTERS_MAX = 100

/** Known ids that a mistyped name may have meant: the same name without its vendor first, then the closest spelling. */
export function nearest(name: string, known: readonly string[]): string[] {
  if (name.length > NAME_CHARACTERS_MAX) return []
  const wanted = name.toLowerCase()
  return known
    .map(id => ({ id, distance: distanceTo(id.toLowerCase(), wanted) }))
    .filter(({ distance }) => distance <= Math.max(2, wanted.length / 3))
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, SUGGESTIONS_MAX)
    .map(({ id }) => id)
}

function distanceTo(id: string, wanted: string): number {
  const bare = id.slice(id.indexOf('/') + 1)
  const wantedBare = wanted.slice(wanted.indexOf('/') + 1)
  return Math.min(editDistance(id, wanted), editDistance(bare, wantedBare) + 0.5)
}

/** Levenshtein, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(row, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, at(row, j) + 1, at(next, j - 1) + 1))
    }
    row = next
  }
  return at(row, b.length)
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY
