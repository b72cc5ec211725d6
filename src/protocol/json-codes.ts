/** The signs of JSON, as the codes of their characters. */
export const QUOTE = 0x22
export const BACKSLASH = 0x5c
export const OPEN_BRACE = 0x7b
export const CLOSE_BRACE = 0x7d
export const OPEN_BRACKET = 0x5b
export const CLOSE_BRACKET = 0x5d
export const COMMA = 0x2c
export const SPACE = 0x20
export const NEW_LINE = 0x0a
export const DELETE = 0x7f
