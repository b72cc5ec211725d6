/** The form of a database: where it is, and what is missing to the one that this program knows. */

export interface SchemaStep {
  readonly version: number
  readonly name: string
}

export interface Schema {
  /** What this program knows. */
  readonly newest: number
  /** In the order in which they would be applied. Throws for a database of a newer program. */
  pending(): Promise<readonly SchemaStep[]>
  /** Applies what is pending, and says what that was: nothing, if somebody else was faster. */
  apply(): Promise<readonly SchemaStep[]>
  close(): Promise<void>
}

export interface SchemaEvents {
  /** Somebody else is at it, and is waited for. */
  waiting(): void
  /** What was there before is in this file. */
  kept(path: string): void
}

/** The numbers of migrations are their places in a list, from 1. */
export const stepsAfter = (version: number, names: readonly string[]): SchemaStep[] =>
  names.map((name, place) => ({ version: place + 1, name })).slice(version)
