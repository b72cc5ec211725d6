import { isObject, type JsonObject } from '../../core/ask.ts'
import { asText } from '../fields.ts'
import { editMembers, jsonMembers, type MemberEdits, rawObject } from '../json.ts'
import { JsonProgress } from '../json-progress.ts'
import { newCallId } from '../names.ts'
import { callWithText } from './arguments.ts'
import { CallList, type StreamedCall, type Taken } from './call-list.ts'

/**
 * The calls of one streamed answer, as vendors send them and as the official clients need them: numbered from 0, with an
 * id, a type and a name once, and arguments that are one JSON document. What is as it should be keeps its text.
 */
export class CallMender {
  private readonly list = new CallList()
  /** Calls that clients have seen begin. */
  private readonly begun = new Set<StreamedCall>()
  /** Arguments that came before the name: some clients cannot do with a call that gets its name later. */
  private readonly held = new Map<StreamedCall, string>()
  private readonly argued = new Set<StreamedCall>()
  private readonly ids = new Set<unknown>()

  get hasCalls(): boolean {
    return this.list.calls.length > 0
  }

  /** What is missing at the end: calls that no argument, or no name, has come for. */
  get missing(): readonly JsonObject[] {
    return this.list.calls.flatMap((call): JsonObject[] => {
      const made = { arguments: this.held.get(call) || '{}' }
      if (!this.begun.has(call)) return [{ ...this.opening(call), function: { name: 'unknown', ...made } }]
      return this.argued.has(call) ? [] : [{ index: call.place, function: made }]
    })
  }

  /** The fragment's own text, or the same with what clients need; undefined for one that waits. */
  mend(raw: string, fragment: JsonObject): string | undefined {
    const taken = this.list.take(callWithText(raw, fragment))
    const { call } = taken
    const isFirst = !this.begun.has(call)
    if (isFirst && call.name === '') {
      this.held.set(call, (this.held.get(call) ?? '') + taken.added)
      return undefined
    }
    this.begun.add(call)
    const edits = {
      ...(fragment.index === call.place ? {} : { index: String(call.place) }),
      ...(isFirst ? begun(fragment, ownId(call.id, this.ids)) : repeated(fragment)),
      ...this.madeEdits(raw, fragment, { ...taken, isFirst }),
    }
    return Object.keys(edits).length === 0 ? raw : editMembers(raw, edits)
  }

  private opening({ place, id }: StreamedCall): JsonObject {
    return { index: place, id: ownId(id, this.ids), type: 'function' }
  }

  private madeEdits(raw: string, fragment: JsonObject, { call, added, isFirst }: Taken): MemberEdits {
    const form = isObject(fragment.custom) ? 'custom' : 'function'
    const made = fragment[form]
    const before = this.held.get(call) ?? ''
    this.held.delete(call)
    // Tools that take text have no JSON to look after.
    if (form === 'custom' || before + added !== '') this.argued.add(call)
    if (!isObject(made)) return { function: '{"arguments":""}' }
    const edits = {
      ...(form === 'custom' || made.arguments === before + added ? {} : jsonMembers({ arguments: before + added })),
      // One official client would write a name that comes again behind the first.
      ...(!isFirst && made.name !== undefined ? { name: undefined } : {}),
    }
    return Object.keys(edits).length === 0 ? {} : { [form]: editMembers(rawObject(raw, form), edits) }
  }
}

const begun = ({ id, type, custom }: JsonObject, own: string): MemberEdits => ({
  ...(id === own ? {} : jsonMembers({ id: own })),
  ...(typeof type === 'string' && type !== '' ? {} : jsonMembers({ type: isObject(custom) ? 'custom' : 'function' })),
})

/** A call must be answerable: without an id, or under that of another, it is not. */
function ownId(id: unknown, taken: Set<unknown>): string {
  const own = typeof id === 'string' && id !== '' && !taken.has(id) ? id : newCallId()
  taken.add(own)
  return own
}

const repeated = ({ id, type }: JsonObject): MemberEdits => ({
  ...(id === undefined ? {} : { id: undefined }),
  ...(type === undefined ? {} : { type: undefined }),
})

/** The same for a call that is there at once. */
export function mendWholeCall(raw: string, call: JsonObject, ids: Set<unknown>): string {
  const { id, type, function: made } = call
  const { function: textual } = callWithText(raw, call)
  if (!isObject(made) || !isObject(textual)) return raw
  const accepted = new JsonProgress().accept(asText(textual.arguments) ?? '') || '{}'
  const own = ownId(id, ids)
  const edits = {
    ...(id === own ? {} : jsonMembers({ id: own })),
    ...(type === undefined ? jsonMembers({ type: 'function' }) : {}),
    ...(made.arguments === accepted
      ? {}
      : { function: editMembers(rawObject(raw, 'function'), jsonMembers({ arguments: accepted })) }),
  }
  return Object.keys(edits).length === 0 ? raw : editMembers(raw, edits)
}
