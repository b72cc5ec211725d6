/** Rows as `COPY … FROM STDIN` reads them: a line each, values between tabs. */

/** A value as text; what is null stays so. */
export type CopyValue = string | null

export const copyLine = (values: readonly CopyValue[]): string => `${values.map(copyField).join('\t')}\n`

const SPECIAL = /[\\\t\n\r\0]/
const EVERY_SPECIAL = new RegExp(SPECIAL, 'g')

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  // The one character that no text of PostgreSQL can hold.
  '\0': '\uFFFD',
}

function copyField(value: CopyValue): string {
  if (value === null) return '\\N'
  // Hardly any value has one, and looking is a third of the work of replacing.
  return SPECIAL.test(value) ? value.replace(EVERY_SPECIAL, character => ESCAPES[character] ?? '') : value
}
