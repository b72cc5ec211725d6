import { isObject, type JsonObject } from '../../core/ask.ts'
import { newHex } from '../../core/ids.ts'
import { asText } from '../fields.ts'
import { editMembers, JsonProgress, jsonMembers, type MemberEdits, rawObject } from '../json.ts'
import { findCall } from './fragments.ts'
import { argumentsText } from './response.ts'

interface Call {
  /** As the vendor numbers it. */
  readonly index: unknown
  /** As clients want it: from 0, without gaps. */
  readonly place: number
  id: string
  hasName: boolean
  hasArguments: boolean
  readonly progress: JsonProgress
}

/**
 * The calls of one streamed answer, as vendors send them and as the official clients need them: numbered from 0, with an
 * id, a type and a name once, and arguments that are one JSON document. What is as it should be keeps its text.
 */
export class CallMender {
  private readonly calls: Call[] = []

  get hasCalls(): boolean {
    return this.calls.length > 0
  }

  /** Calls that no argument has come for. */
  get silent(): readonly number[] {
    return this.calls.filter(({ hasArguments }) => !hasArguments).map(({ place }) => place)
  }

  /** The fragment's own text, or the same with what clients need. */
  mend(raw: string, fragment: JsonObject): string {
    // Tools that take text have no JSON to look after.
    if (isObject(fragment.custom)) return raw
    const made = isObject(fragment.function) ? fragment.function : {}
    const [id, name] = [asText(fragment.id) ?? '', asText(made.name) ?? '']
    const known = findCall(this.calls, { index: fragment.index, id, name })
    const call = known ?? this.begin(fragment.index, id)
    const edits = {
      ...(fragment.index === call.place ? {} : { index: String(call.place) }),
      ...(known ? repeated(fragment) : begun(fragment, call)),
      ...this.functionEdits(raw, fragment, call),
    }
    call.hasName ||= name !== ''
    return Object.keys(edits).length === 0 ? raw : editMembers(raw, edits)
  }

  private begin(index: unknown, id: string): Call {
    const call = {
      ...{ index, place: this.calls.length, id: id || newCallId() },
      ...{ hasName: false, hasArguments: false, progress: new JsonProgress() },
    }
    this.calls.push(call)
    return call
  }

  private functionEdits(raw: string, { function: made }: JsonObject, call: Call): MemberEdits {
    if (!isObject(made)) return { function: '{"arguments":""}' }
    const given = argumentsText(made.arguments)
    const accepted = call.progress.accept(given)
    call.hasArguments ||= accepted !== ''
    const isText = typeof made.arguments === 'string'
    const edits = {
      ...(isText && accepted === given ? {} : { arguments: JSON.stringify(accepted) }),
      // One official client would write a name that comes again behind the first.
      ...(call.hasName && made.name !== undefined ? { name: undefined } : {}),
    }
    return Object.keys(edits).length === 0 ? {} : { function: editMembers(rawObject(raw, 'function'), edits) }
  }
}

const begun = ({ id, type }: JsonObject, call: Call): MemberEdits => ({
  ...(id === call.id ? {} : { id: JSON.stringify(call.id) }),
  ...(typeof type === 'string' && type !== '' ? {} : { type: '"function"' }),
})

const repeated = ({ id, type }: JsonObject): MemberEdits => ({
  ...(id === undefined ? {} : { id: undefined }),
  ...(type === undefined ? {} : { type: undefined }),
})

/** The same for a call that is there at once. */
export function mendWholeCall(raw: string, { id, type, function: made }: JsonObject): string {
  if (!isObject(made)) return raw
  const given = argumentsText(made.arguments)
  const accepted = new JsonProgress().accept(given)
  const isJson = typeof made.arguments === 'string' && accepted !== '' && accepted === given
  const edits = {
    ...(typeof id === 'string' && id !== '' ? {} : { id: JSON.stringify(newCallId()) }),
    ...(type === undefined ? { type: '"function"' } : {}),
    ...(isJson
      ? {}
      : { function: editMembers(rawObject(raw, 'function'), jsonMembers({ arguments: accepted || '{}' })) }),
  }
  return Object.keys(edits).length === 0 ? raw : editMembers(raw, edits)
}

const newCallId = (): string => `call_${newHex(12)}`
