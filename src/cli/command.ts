import type { Output } from './output.ts'

/** One command: what help says about it, and where it is. */
export interface Command {
  readonly summary: string
  /** What the summary leaves out. */
  readonly details?: readonly string[]
  readonly arguments?: readonly Argument[]
  readonly options?: Readonly<Record<string, Option>>
  readonly examples: readonly string[]
  /** Imports the command's module: no command waits for the code of another. */
  load(): Promise<Run>
}

/** Commands about one thing: `duet accounts create`. */
export interface Group {
  readonly summary: string
  readonly commands: Readonly<Record<string, Command>>
}

export interface Argument {
  readonly name: string
  readonly summary: string
  readonly isOptional?: true
}

export interface Option {
  /** How its value is written in help; a switch has none. */
  readonly value?: string
  readonly summary: string
  readonly isRequired?: true
}

export type Run = (given: Given, context: Context) => Promise<void>

export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly out: Output
  readonly clock: () => number
}

/** The arguments and options of one call, by their names. */
export class Given {
  private readonly values: ReadonlyMap<string, string>

  constructor(values: ReadonlyMap<string, string>) {
    this.values = values
  }

  maybe(name: string): string | undefined {
    return this.values.get(name)
  }

  /** Of what the table says is required: it was checked when the arguments were read. */
  text(name: string): string {
    const value = this.values.get(name)
    if (value === undefined) throw new Error(`${name} is not required by the table of commands`)
    return value
  }

  has(name: string): boolean {
    return this.values.has(name)
  }
}
