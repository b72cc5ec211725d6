/** What could not be tested on this machine, told where people look: at the end, or below the file it is about. */
const notes = new Set<string>()

export const noteSkipped = (note: string): void => void notes.add(note)

export function tellSkipped(): void {
  for (const note of notes) console.error(`\n${note}`)
}
