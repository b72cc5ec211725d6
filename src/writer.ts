/** Not `process.stderr`, with which all of the runtime's streams would be loaded: nothing else of a start needs them. */
export function writerTo(file: Bun.BunFile): (text: string) => void {
  const sink = file.writer()
  return text => {
    sink.write(text)
    sink.flush()
  }
}

/** What the system writes to a pipe in one piece, however many write to it. */
const PIECE_BYTES_MAX = 4_096

/** For processes that write to the same place: no line of one must end up within a line of another. */
export const linewise =
  (write: (text: string) => void) =>
  (text: string): void => {
    let piece = ''
    for (const line of text.split(/(?<=\n)/)) {
      if (piece !== '' && Buffer.byteLength(piece) + Buffer.byteLength(line) > PIECE_BYTES_MAX) {
        write(piece)
        piece = ''
      }
      piece += line
    }
    if (piece !== '') write(piece)
  }
