import type {
  AssistantPart,
  ContentPart,
  DocumentPart,
  TextPart,
  ToolResult,
  TurnMessage,
  UserPart,
} from '../../core/turn.ts'
import { IMAGE_OMITTED } from '../images.ts'
import type { NameBook } from '../names.ts'
import type { Target } from '../protocol.ts'
import { reminder } from '../reminder.ts'

/** Messages as one upstream takes them, and the names of what it does not. */
export class MessageWriter {
  readonly dropped = new Set<string>()
  private readonly target: Target
  private readonly names: NameBook

  constructor(target: Target, names: NameBook) {
    this.target = target
    this.names = names
  }

  system(texts: readonly TextPart[]): unknown[] {
    return texts.length > 0 ? [{ role: 'system', content: this.content(texts) }] : []
  }

  /** A message with nothing in it is left out, unless two turns of the user would run together without it. */
  messages(history: readonly TurnMessage[]): unknown[] {
    let lastSpeaker: string | undefined
    const kept = history.flatMap((message, place) => {
      const wire = this.message(message)
      const isBetween = lastSpeaker === 'user' && history[place + 1]?.role === 'user'
      const isSilent = wire.length === 0
      if (!isSilent || isBetween) lastSpeaker = message.role
      return isSilent && isBetween && message.role === 'assistant' ? [{ role: 'assistant', content: '' }] : wire
    })
    return kept.length > 0 ? kept : [{ role: 'user', content: '' }]
  }

  private message(message: TurnMessage): unknown[] {
    switch (message.role) {
      case 'system':
        if (this.target.capabilities.midSystem) return [{ role: 'system', content: message.text }]
        return [{ role: 'user', content: reminder(message.text) }]
      case 'assistant':
        return this.assistant(message.parts)
      case 'user':
        return this.user(message.parts)
    }
  }

  private user(parts: readonly UserPart[]): unknown[] {
    const results = parts.filter(part => part.type === 'tool-result')
    const said = parts
      .filter(part => part.type !== 'tool-result')
      .filter(part => part.type !== 'text' || part.text !== '')
    const shown = results.flatMap(result => this.shownImages(result))
    const wire = results.map(result => this.result(result))
    const last = [...shown, ...said]
    return last.length > 0 ? [...wire, { role: 'user', content: this.content(last) }] : wire
  }

  private result({ id, parts, isError, cache }: ToolResult): unknown {
    if (cache) this.dropped.add('cache_control')
    const told = isError ? asError(parts) : parts
    const isPlain = told.length <= 1 && told.every(({ type }) => type === 'text')
    const asArray = this.target.capabilities.contentArrayInTool && !isPlain && told.length > 0
    const texts = () => told.map(part => (part.type === 'image' ? IMAGE_BELOW : this.plainText(part))).filter(Boolean)
    return { role: 'tool', tool_call_id: id, content: asArray ? told.map(part => this.part(part)) : texts().join('\n') }
  }

  /** A result is text in this dialect, so its images come behind the last result, with a word on whose they are. */
  private shownImages({ id, parts }: ToolResult): ContentPart[] {
    const images = parts.filter(({ type }) => type === 'image')
    if (images.length === 0 || this.target.capabilities.contentArrayInTool) return []
    return [{ type: 'text', text: `[Images returned by tool call ${id}]` }, ...images]
  }

  private plainText(part: ContentPart): string {
    switch (part.type) {
      case 'text':
        return part.text
      case 'image':
        return IMAGE_OMITTED
      case 'document':
        return this.omittedDocument(part.name)
    }
  }

  /** This dialect has files only as what is in them, never by an address. */
  private takes({ url }: DocumentPart): boolean {
    return this.target.capabilities.documents && url?.startsWith('data:') === true
  }

  private omittedDocument(name: string | undefined): string {
    this.dropped.add('document')
    return name ? `[document omitted: ${name}]` : '[document omitted]'
  }

  /** A plain string wherever possible: several servers of this dialect refuse arrays. */
  private content(parts: readonly ContentPart[]): unknown {
    const { cacheControl, partsArray } = this.target.capabilities
    const hasMarks = parts.some(({ cache }) => cache)
    if (hasMarks && !cacheControl) this.dropped.add('cache_control')
    const isPlain = parts.every(part => part.type === 'text' || (part.type === 'document' && !this.takes(part)))
    const asArray = !isPlain || (hasMarks && cacheControl) || (partsArray && parts.length > 1)
    return asArray ? parts.map(part => this.part(part)) : parts.map(part => this.plainText(part)).join('\n\n')
  }

  private part(part: ContentPart): unknown {
    const cache_control = this.target.capabilities.cacheControl ? part.cache : undefined
    if (part.type === 'image') return { type: 'image_url', image_url: { url: part.url }, cache_control }
    if (part.type === 'document' && this.takes(part)) {
      const filename = part.name ?? 'document.pdf'
      return { type: 'file', file: { filename, file_data: part.url }, cache_control }
    }
    return { type: 'text', text: this.plainText(part), cache_control }
  }

  private assistant(parts: readonly AssistantPart[]): unknown[] {
    const thoughts = parts.filter(part => part.type === 'thinking')
    const isReplayed = this.target.capabilities.reasoningReplay
    if (thoughts.some(({ text }) => text === '' || !isReplayed)) this.dropped.add('thinking')
    const text = parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('')
    if (parts.some(part => part.type !== 'thinking' && part.cache)) this.dropped.add('cache_control')
    const calls = parts.flatMap(part => (part.type === 'tool-call' ? [this.call(part)] : []))
    if (text === '' && calls.length === 0) return []
    const reasoning = isReplayed ? thoughts.map(thought => thought.text).join('') : ''
    return [
      {
        role: 'assistant',
        content: text || (calls.length > 0 ? null : ''),
        reasoning_content: reasoning || undefined,
        tool_calls: calls.length > 0 ? calls : undefined,
      },
    ]
  }

  private call({ id, name, arguments: made }: Extract<AssistantPart, { type: 'tool-call' }>): unknown {
    return { id, type: 'function', function: { name: this.names.legal(name), arguments: made || '{}' } }
  }
}

/** Stands in a result whose image follows in the user's name. */
const IMAGE_BELOW = '[image: see below]'

/** A failure is told in the text of its result; there is no other place for it. */
function asError(parts: readonly ContentPart[]): readonly ContentPart[] {
  const [first, ...others] = parts
  if (first?.type !== 'text') return [{ type: 'text', text: 'Error: ' }, ...parts]
  return first.text.startsWith('Error') ? parts : [{ ...first, text: `Error: ${first.text}` }, ...others]
}
