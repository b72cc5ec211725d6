import { isObject } from '../core/ask.ts'
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE, SPACE } from './json-codes.ts'

/**
 * Edits on JSON *text*. A like pair forwards what it was given, so that unknown fields, big numbers and the order of
 * keys survive, and a long prompt is not written out again. Every function here expects text that `JSON.parse` has
 * accepted; none of them checks it a second time.
 */

export interface Span {
  readonly start: number
  readonly end: number
}

export interface Member extends Span {
  readonly key: string
  /** Where the key's own quote stands. */
  readonly keyStart: number
}

export interface Edit extends Span {
  readonly text: string
}

/** New JSON text for a member, or undefined to take it out. */
export type MemberEdits = Readonly<Record<string, string | undefined>>

/** The members of the object that starts at `at`; none of anything else. */
export function members(text: string, at: number): Member[] {
  const found: Member[] = []
  if (text[at] !== '{') return found
  let cursor = skipSpace(text, at + 1)
  while (text[cursor] !== '}') {
    const keyStart = cursor
    const keyEnd = valueEnd(text, keyStart)
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1)
    const end = valueEnd(text, start)
    found.push({ key: keyName(text.slice(keyStart, keyEnd)), keyStart, start, end })
    cursor = skipComma(text, end)
  }
  return found
}

const keyName = (quoted: string): string => (quoted.includes('\\') ? JSON.parse(quoted) : quoted.slice(1, -1))

/** The elements of the array that starts at `at`; none of anything else. */
export function elements(text: string, at: number): Span[] {
  const found: Span[] = []
  if (text[at] !== '[') return found
  let cursor = skipSpace(text, at + 1)
  while (text[cursor] !== ']') {
    const end = valueEnd(text, cursor)
    found.push({ start: cursor, end })
    cursor = skipComma(text, end)
  }
  return found
}

/** `JSON.parse` keeps the last of several equal keys, so that is the one that counts here too. */
export const member = (text: string, at: number, key: string): Member | undefined =>
  members(text, at).findLast(candidate => candidate.key === key)

export function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text))
  } catch {
    return false
  }
}

export const root = (text: string): number => skipSpace(text, 0)

export const rawText = (text: string, { start, end }: Span): string => text.slice(start, end)

/** The elements of a member of the outermost object that is a list. */
export function elementSpans(text: string, key: string): Span[] {
  const list = member(text, root(text), key)
  return list ? elements(text, list.start) : []
}

/** Writes messages of a request anew, where `rewrite` has another text for one; the others keep theirs. */
export function editMessages(text: string, rewrite: (place: number, span: Span) => string | undefined): string {
  const edits = elementSpans(text, 'messages').flatMap((span, place): Edit[] => {
    const rewritten = rewrite(place, span)
    return rewritten === undefined ? [] : [{ ...span, text: rewritten }]
  })
  return applyEdits(text, edits)
}

/** Keys of objects and places in arrays, from the outside in. */
type Path = readonly (string | number)[]

function spanAt(text: string, at: number, path: Path): Span | undefined {
  let found: Span | undefined = { start: at, end: path.length === 0 ? valueEnd(text, at) : at }
  for (const step of path) {
    if (!found) return undefined
    found = typeof step === 'number' ? elements(text, found.start)[step] : member(text, found.start, step)
  }
  return found
}

/** The text of a value deep inside, exactly as it was written. */
export function rawAt(text: string, at: number, ...path: Path): string | undefined {
  const span = spanAt(text, at, path)
  return span && rawText(text, span)
}

/** The text of a member that should be an object, `{}` where it is anything else. */
export function rawObject(text: string, key: string): string {
  const raw = rawAt(text, root(text), key)
  return raw?.startsWith('{') ? raw : '{}'
}

/**
 * Changes members of the outermost object; the others keep their text. Of a key that stands there twice only the last
 * one stays, the one that was checked: the upstream might believe the other.
 */
export function editMembers(text: string, changes: MemberEdits): string {
  const present = new Map(members(text, root(text)).map(found => [found.key, found]))
  const kept = [...present.values()].flatMap(({ key, keyStart, start, end }) => {
    if (!Object.hasOwn(changes, key)) return [text.slice(keyStart, end)]
    return changes[key] === undefined ? [] : [text.slice(keyStart, start) + changes[key]]
  })
  const added = Object.entries(changes)
    .filter(([key, value]) => value !== undefined && !present.has(key))
    .map(([key, value]) => `${JSON.stringify(key)}:${value}`)
  return `{${[...kept, ...added].join(',')}}`
}

/** Members for `editMembers` from plain values. */
export const jsonMembers = (values: Readonly<Record<string, unknown>>): MemberEdits =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, JSON.stringify(value)]))

export function applyEdits(text: string, edits: readonly Edit[]): string {
  let result = ''
  let cursor = 0
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    result += text.slice(cursor, edit.start) + edit.text
    cursor = edit.end
  }
  return result + text.slice(cursor)
}

/** The value that starts at `start`. */
export const valueSpan = (text: string, start: number): Span => ({ start, end: valueEnd(text, start) })

/** Where the value that starts at `start` ends. Iterative, so that 10,000 levels of nesting are only a long loop. */
function valueEnd(text: string, start: number): number {
  const first = text.charCodeAt(start)
  if (first === QUOTE) return stringEnd(text, start)
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return scalarEnd(text, start)
  let depth = 0
  for (let cursor = start; ; cursor++) {
    switch (text.charCodeAt(cursor)) {
      case QUOTE:
        cursor = stringEnd(text, cursor) - 1
        break
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth++
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--
        if (depth === 0) return cursor + 1
        break
    }
  }
}

function stringEnd(text: string, start: number): number {
  let close = start
  do close = text.indexOf('"', close + 1)
  while (isEscaped(text, close))
  return close + 1
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0
  while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++
  return backslashes % 2 === 1
}

function scalarEnd(text: string, start: number): number {
  let cursor = start
  while (cursor < text.length && !endsScalar(text.charCodeAt(cursor))) cursor++
  return cursor
}

const endsScalar = (code: number): boolean =>
  code <= SPACE || code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET

function skipSpace(text: string, start: number): number {
  let cursor = start
  while (text.charCodeAt(cursor) <= SPACE) cursor++
  return cursor
}

function skipComma(text: string, start: number): number {
  const cursor = skipSpace(text, start)
  return text.charCodeAt(cursor) === COMMA ? skipSpace(text, cursor + 1) : cursor
}
