/** A stretch of a JSON text. */
export interface Span {
  readonly start: number
  readonly end: number
}

export interface Member extends Span {
  readonly key: string
  /** Where the key's own quote stands. */
  readonly keyStart: number
}

/** The length of a text in UTF-16 units and in UTF-8 bytes: what token estimates are made of. */
export interface TextSize {
  readonly characters: number
  readonly bytes: number
}

/** New JSON text for members of a request, or undefined to take one out. A map: callers choose names of members. */
export type Changes = ReadonlyMap<string, string | undefined>

/** The body of a request as it was written. */
export interface Source {
  readonly text: string
  /** Of the outermost object, in the order of the text. Found once, for all who look for them. */
  readonly members: readonly Member[]
  /** How long the values of members are. */
  sizeOf(isMeant: (key: string) => boolean): TextSize
  /** The body with other members: as text, or as the bytes that came in with what was changed between them. */
  edited(changes: Changes): string | readonly Uint8Array[]
}
