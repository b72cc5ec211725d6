/** What could not be tested on this machine, told once, where people look: at the end. */
const notes = new Set<string>()

export const noteSkipped = (note: string): void => void notes.add(note)

export function tellSkipped(): void {
  for (const note of notes) console.error(`\n${note}`)
}
