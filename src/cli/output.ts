import { writeSync } from 'node:fs'
import { asCommandError, EXIT, type ExitCode } from './failure.ts'
import { type Paint, paintFor } from './paint.ts'

/** What a command found or did, in each form it can be asked for. */
export interface Result {
  /** What the API answered. */
  readonly json: unknown
  /** Ids, one a line; nothing where something was done. */
  readonly quiet?: readonly string[]
  text(paint: Paint): string
}

const STDOUT = 1
const STDERR = 2

/** Results go to stdout, in one form; everything else goes to stderr. */
export class Output {
  readonly isJson: boolean
  private readonly isQuiet: boolean
  private readonly paint: Paint

  constructor(options: { readonly isJson: boolean; readonly isQuiet: boolean; readonly mayColour: boolean }) {
    this.isJson = options.isJson
    this.isQuiet = options.isQuiet
    this.paint = paintFor({
      hasColours: () => options.mayColour && isTerminal(STDOUT),
      lineWidth: () => (isTerminal(STDOUT) && process.stdout.columns) || Number.POSITIVE_INFINITY,
    })
  }

  result({ json, quiet = [], text }: Result): void {
    if (this.isJson) this.line(JSON.stringify(json))
    else if (this.isQuiet) for (const id of quiet) this.line(id)
    else this.line(text(this.paint))
  }

  /** One line on stdout, whatever was asked for. */
  line(text: string): void {
    write(STDOUT, `${text}\n`)
  }

  /** For people, beside the result. */
  note(text: string): void {
    if (!this.isJson && !this.isQuiet) write(STDERR, `${text}\n`)
  }

  /** A line that the next one replaces; only where somebody is looking. */
  progress(text: string): void {
    if (!this.isQuiet && isTerminal(STDERR)) write(STDERR, `\r${text}${CLEAR_TO_END}`)
  }

  /** What went wrong, and the exit code that says so. `help` is for those who have to type it again. */
  fail(error: unknown, help?: string): ExitCode {
    const { message: text, code, exit } = asCommandError(error)
    const message = withoutControls(text)
    if (this.isJson) write(STDERR, `${JSON.stringify({ error: { code, message } })}\n`)
    else write(STDERR, `duet: ${message}\n${help === undefined ? '' : `\n${help}\n`}`)
    return exit
  }
}

/** Loaded when it is asked for: it costs as much time as all the rest of a short command. */
const isTerminal = (file: number): boolean => process.getBuiltinModule('node:tty').isatty(file)

const CLEAR_TO_END = '\u001b[K'

/** Messages repeat what was typed and what an upstream said; none of it may move a cursor. Lines are ours. */
const withoutControls = (text: string): string => text.replace(/[^\P{Cc}\n]/gu, '\uFFFD')

const AGAIN_MS = 1

/** Synchronous, so that nothing is lost when the process ends; a pipe that is full is waited for. */
function write(file: number, text: string): void {
  let rest = Buffer.from(text)
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(file, rest))
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      // `duet usage | head -1`: the reader has what it wanted, and that is no failure.
      if (code === 'EPIPE') process.exit(EXIT.ok)
      if (code !== 'EAGAIN') throw error
      Bun.sleepSync(AGAIN_MS)
    }
  }
}
