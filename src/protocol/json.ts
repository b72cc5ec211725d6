import { isObject } from '../core/ask.ts'
import type { Changes, Member, Source, Span, TextSize } from '../core/source.ts'
import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE, SPACE } from './json-codes.ts'

/**
 * Edits on JSON *text*. A like pair forwards what it was given, so that unknown fields, big numbers and the order of
 * keys survive, and a long prompt is not written out again. Every function here expects text that `JSON.parse` has
 * accepted; none of them checks it a second time.
 */

export type { Member, Span }

export interface Edit extends Span {
  readonly text: string
}

/** New JSON text for a member, or undefined to take it out. */
export type MemberEdits = Readonly<Record<string, string | undefined>>

/** The members of the object that starts at `at`; none of anything else. */
export const members = (text: string, at: number): Member[] => membersBy(text, at, valueEnd)

/** Where the value of a member ends. */
type Ending = (text: string, start: number, key: string) => number

function membersBy(text: string, at: number, endOf: Ending): Member[] {
  const found: Member[] = []
  if (text.charCodeAt(at) !== OPEN_BRACE) return found
  let cursor = skipSpace(text, at + 1)
  while (text.charCodeAt(cursor) !== CLOSE_BRACE) {
    const keyStart = cursor
    const keyEnd = stringEnd(text, keyStart)
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1)
    const key = keyName(text, keyStart, keyEnd)
    const end = endOf(text, start, key)
    found.push({ key, keyStart, start, end })
    cursor = skipComma(text, end)
  }
  return found
}

function keyName(text: string, start: number, end: number): string {
  const name = text.slice(start + 1, end - 1)
  return name.includes('\\') ? JSON.parse(text.slice(start, end)) : name
}

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

/** The members of the outermost object and the elements of one of them that is a list, in one go. */
export function outline(text: string, listed: string): { members: Member[]; elements: Span[] } {
  let found: Span[] = []
  const endOf: Ending = (_, start, key) => {
    if (key !== listed || text.charCodeAt(start) !== OPEN_BRACKET) return valueEnd(text, start)
    found = elements(text, start)
    return skipSpace(text, found.at(-1)?.end ?? start + 1) + 1
  }
  return { members: membersBy(text, root(text), endOf), elements: found }
}

/** `JSON.parse` keeps the last of several equal keys, so that is the one that counts here too. */
export function member(text: string, at: number, key: string): Member | undefined {
  if (text.charCodeAt(at) !== OPEN_BRACE) return undefined
  // Looked for in every frame of a stream: a list of all the others would only be thrown away.
  let found: Member | undefined
  let cursor = skipSpace(text, at + 1)
  while (text.charCodeAt(cursor) !== CLOSE_BRACE) {
    const keyStart = cursor
    const keyEnd = stringEnd(text, keyStart)
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1)
    const end = valueEnd(text, start)
    if (isKey(text, keyStart, keyEnd, key)) found = { key, keyStart, start, end }
    cursor = skipComma(text, end)
  }
  return found
}

function isKey(text: string, start: number, end: number, key: string): boolean {
  if (end - start - 2 === key.length && text.startsWith(key, start + 1)) return !key.includes('\\')
  // Written with escapes, a name is longer than what it says.
  return end - start - 2 > key.length && keyName(text, start, end) === key
}

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

/** A text whose outermost members are looked for once, when somebody wants to know. */
export class TextSource implements Source {
  readonly text: string
  private found: readonly Member[] | undefined

  constructor(text: string) {
    this.text = text
  }

  get members(): readonly Member[] {
    this.found ??= members(this.text, root(this.text))
    return this.found
  }

  sizeOf(isMeant: (key: string) => boolean): TextSize {
    const { text } = this
    const isAscii = Buffer.byteLength(text) === text.length
    let characters = 0
    let bytes = 0
    for (const { key, start, end } of this.members) {
      if (!isMeant(key)) continue
      characters += end - start
      bytes += isAscii ? end - start : Buffer.byteLength(text.slice(start, end))
    }
    return { characters, bytes }
  }

  edited(changes: Changes): string {
    return editSource(this, changes)
  }
}

export const asSource = (written: string | Source): Source =>
  typeof written === 'string' ? new TextSource(written) : written

export const sourceMember = ({ members }: Source, key: string): Member | undefined =>
  members.findLast(candidate => candidate.key === key)

/** The text of a member, exactly as it was written. */
export function sourceText(source: Source, key: string): string | undefined {
  const found = sourceMember(source, key)
  return found && rawText(source.text, found)
}

/** The text of a member that should be an object, `{}` where it is anything else. */
export function sourceObject(source: Source, key: string): string {
  const raw = sourceText(source, key)
  return raw?.startsWith('{') ? raw : '{}'
}

/** The elements of a member that is a list. */
export function sourceElements(source: Source, key: string): Span[] {
  const list = sourceMember(source, key)
  return list ? elements(source.text, list.start) : []
}

/** Another text for a message; undefined where it keeps its own. */
type Rewrite = (place: number, raw: string) => string | undefined

/** The whole text, with messages written anew. */
export const editMessages = (source: Source, rewrite: Rewrite): string =>
  applyEdits(source.text, messageEdits(source.text, sourceMember(source, 'messages'), rewrite))

/** The list of messages alone. */
export function editedMessages(source: Source, rewrite: Rewrite): string {
  const list = sourceText(source, 'messages') ?? '[]'
  return applyEdits(list, messageEdits(list, { start: 0, end: list.length }, rewrite))
}

function messageEdits(text: string, list: Span | undefined, rewrite: Rewrite): Edit[] {
  const spans = list ? elements(text, list.start) : []
  return spans.flatMap((span, place): Edit[] => {
    const rewritten = rewrite(place, rawText(text, span))
    return rewritten === undefined ? [] : [{ ...span, text: rewritten }]
  })
}

/** Keys of objects and places in arrays, from the outside in. */
export type Path = readonly (string | number)[]

/** Where a value deep inside stands. */
export function spanAt(text: string, at: number, path: Path): Span | undefined {
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

/** Before any place in a text, and not right before one. */
const NOWHERE = -2

/** As `editSource`, for a text of which nobody knows the members yet. */
export function editMembers(text: string, edits: MemberEdits): string {
  const changes = new Map<string, string | undefined>()
  for (const key in edits) changes.set(key, edits[key])
  return editSource(new TextSource(text), changes)
}

/** The text of a member with other values in it. Where nothing of it stays, which is the rule, it is not looked through. */
export function withValues(source: Source, member: { key: string; value: unknown }, values: Values): string {
  const { key, value } = member
  const isAllNew = isObject(value) && Object.keys(value).every(name => Object.hasOwn(values, name))
  return isAllNew ? JSON.stringify(values) : editValues(sourceObject(source, key), values)
}

type Values = Readonly<Record<string, unknown>>

/** As `editMembers`, from plain values. */
export function editValues(text: string, values: Values): string {
  const changes = new Map<string, string>()
  for (const key in values) changes.set(key, JSON.stringify(values[key]))
  return editSource(new TextSource(text), changes)
}

/**
 * Changes members of the outermost object; the others keep their text. Of a key that stands there twice only the last
 * one stays, the one that was checked: the upstream might believe the other.
 */
export function editSource({ text, members: found }: Source, changes: Changes): string {
  let result = ''
  for (const piece of layOut(found, changes)) result += typeof piece === 'string' ? piece : rawText(text, piece)
  return result
}

/** The pieces of a changed object: stretches of what was there, as few as possible, and what is new. */
export function layOut(found: readonly Member[], changes: Changes): (Span | string)[] {
  const present = lastOfEach(found)
  const pieces: (Span | string)[] = []
  let between = '{'
  /** Members that stand side by side and stay as they are: one piece, however many they are. */
  let from = 0
  let to = NOWHERE
  const endRun = () => {
    if (to > from) pieces.push(between, { start: from, end: to })
    if (to > from) between = ','
    to = NOWHERE
  }
  for (const { key, keyStart, start, end } of present) {
    if (!changes.has(key)) {
      // One character between two members can only be the comma.
      if (keyStart !== to + 1) {
        endRun()
        from = keyStart
      }
      to = end
      continue
    }
    endRun()
    const value = changes.get(key)
    if (value === undefined) continue
    pieces.push(between, { start: keyStart, end: start }, value)
    between = ','
  }
  endRun()
  for (const [key, value] of changes) {
    if (value === undefined || present.some(known => known.key === key)) continue
    pieces.push(`${between}${JSON.stringify(key)}:${value}`)
    between = ','
  }
  pieces.push(between === '{' ? '{}' : '}')
  return pieces
}

/** So few members are compared with each other sooner than they are put into a map. */
const FEW_MEMBERS = 12

/** Each key once, where it stands first, with the value that it has last. */
function lastOfEach(found: readonly Member[]): readonly Member[] {
  const isEachOnce = found.length <= FEW_MEMBERS && found.every(({ key }, place) => isLast(found, key, place))
  if (isEachOnce) return found
  const present = new Map<string, Member>()
  for (const candidate of found) present.set(candidate.key, candidate)
  return [...present.values()]
}

function isLast(found: readonly Member[], key: string, place: number): boolean {
  for (let later = place + 1; later < found.length; later++) if (found[later]?.key === key) return false
  return true
}

/** Members for `editMembers` from plain values. */
export function jsonMembers(values: Readonly<Record<string, unknown>>): MemberEdits {
  const written: Record<string, string | undefined> = {}
  for (const key in values) written[key] = JSON.stringify(values[key])
  return written
}

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
