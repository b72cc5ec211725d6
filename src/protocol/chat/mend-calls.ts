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
  private readonly named = new Set<StreamedCall>()
  private readonly argued = new Set<StreamedCall>()
  private readonly ids = new Set<unknown>()

  get hasCalls(): boolean {
    return this.list.calls.length > 0
  }

  /** Calls that no argument has come for. */
  get silent(): readonly number[] {
    return this.list.calls.filter(call => !this.argued.has(call)).map(({ place }) => place)
  }

  /** The fragment's own text, or the same with what clients need. */
  mend(raw: string, fragment: JsonObject): string {
    const taken = this.list.take(callWithText(raw, fragment))
    const { call, isFirst } = taken
    const edits = {
      ...(fragment.index === call.place ? {} : { index: String(call.place) }),
      ...(isFirst ? begun(fragment, this.ids) : repeated(fragment)),
      ...this.madeEdits(raw, fragment, taken),
    }
    if (call.name !== '') this.named.add(call)
    return Object.keys(edits).length === 0 ? raw : editMembers(raw, edits)
  }

  private madeEdits(raw: string, fragment: JsonObject, { call, added }: Taken): MemberEdits {
    const form = isObject(fragment.custom) ? 'custom' : 'function'
    const made = fragment[form]
    if (!isObject(made)) return { function: '{"arguments":""}' }
    // Tools that take text have no JSON to look after.
    if (form === 'custom' || added !== '') this.argued.add(call)
    const edits = {
      ...(form === 'custom' || made.arguments === added ? {} : jsonMembers({ arguments: added })),
      // One official client would write a name that comes again behind the first.
      ...(this.named.has(call) && made.name !== undefined ? { name: undefined } : {}),
    }
    return Object.keys(edits).length === 0 ? {} : { [form]: editMembers(rawObject(raw, form), edits) }
  }
}

/** An id that comes later would change the call's name for clients that have seen it begin. */
const begun = ({ id, type, custom }: JsonObject, ids: Set<unknown>): MemberEdits => ({
  ...ownId(id, ids),
  ...(typeof type === 'string' && type !== '' ? {} : jsonMembers({ type: isObject(custom) ? 'custom' : 'function' })),
})

/** A call must be answerable: without an id, or under that of another, it is not. */
function ownId(id: unknown, taken: Set<unknown>): MemberEdits {
  const isOwn = typeof id === 'string' && id !== '' && !taken.has(id)
  taken.add(id)
  return isOwn ? {} : jsonMembers({ id: newCallId() })
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
  const edits = {
    ...ownId(id, ids),
    ...(type === undefined ? jsonMembers({ type: 'function' }) : {}),
    ...(made.arguments === accepted
      ? {}
      : { function: editMembers(rawObject(raw, 'function'), jsonMembers({ arguments: accepted })) }),
  }
  return Object.keys(edits).length === 0 ? raw : editMembers(raw, edits)
}
