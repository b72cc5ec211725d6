import { isObject, type JsonObject } from '../../core/ask.ts'
import { malformed, PARTS_MAX } from '../answer.ts'
import { asText } from '../fields.ts'
import { JsonProgress } from '../json-progress.ts'

/** One call of a streamed answer, as its fragments come. */
export interface StreamedCall {
  /** As the vendor numbers it. */
  readonly index: unknown
  /** As clients want it: from 0, without gaps. */
  readonly place: number
  /** Empty until the vendor has given them; the first ones win, for some repeat them on every fragment. */
  id: string
  name: string
  readonly progress: JsonProgress
}

export interface Taken {
  readonly call: StreamedCall
  readonly isFirst: boolean
  /** What the fragment adds to the arguments; what follows a complete document is noise. */
  readonly added: string
}

/** The calls of one answer, in whatever way the vendor numbers, names and interleaves them. */
export class CallList {
  readonly calls: StreamedCall[] = []
  private readonly byIndex = new Map<unknown, StreamedCall>()
  private readonly byId = new Map<string, StreamedCall>()

  take(fragment: JsonObject): Taken {
    const made = isObject(fragment.function) ? fragment.function : isObject(fragment.custom) ? fragment.custom : {}
    const [id, name] = [asText(fragment.id) ?? '', asText(made.name) ?? '']
    const known = this.find({ index: fragment.index, id, name })
    const call = known ?? this.begin(fragment.index)
    call.name ||= name
    if (call.id === '' && id !== '') {
      call.id = id
      this.byId.set(id, call)
    }
    return { call, isFirst: !known, added: call.progress.accept(asText(made.arguments) ?? '') }
  }

  private find({ index, id, name }: { index: unknown; id: string; name: string }): StreamedCall | undefined {
    if (typeof index !== 'number') {
      if (id !== '') return this.byId.get(id)
      return name === '' ? this.calls.at(-1) : undefined
    }
    const known = this.byIndex.get(index)
    // Some vendors number every call 0: another id together with a name is another call.
    const isAnother = known && id !== '' && known.id !== '' && known.id !== id && name !== ''
    return isAnother ? undefined : known
  }

  private begin(index: unknown): StreamedCall {
    if (this.calls.length === PARTS_MAX) throw malformed()
    const call = { index, place: this.calls.length, id: '', name: '', progress: new JsonProgress() }
    this.calls.push(call)
    this.byIndex.set(index, call)
    return call
  }
}
