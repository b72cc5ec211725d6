import { invalid } from '../../core/failure.ts'
import type { AssistantPart, ContentPart, ToolResult, TurnMessage, UserPart } from '../../core/turn.ts'
import { textOf } from '../fields.ts'
import type { NameBook } from '../names.ts'
import type { Target } from '../protocol.ts'
import { reminder } from '../reminder.ts'
import { mark } from './cache-marks.ts'
import { PLACEHOLDER } from './content.ts'
import { dataSource, mediaSource } from './media.ts'
import { toolInput } from './tool-input.ts'

const CONTINUE = 'Continue.'

type Block = Readonly<Record<string, unknown>>

interface WireMessage {
  readonly role: 'user' | 'assistant' | 'system'
  readonly content: string | Block[]
}

/** Messages as one upstream takes them, and the names of what it does not. */
export class MessageWriter {
  readonly dropped = new Set<string>()
  private readonly target: Target
  private readonly names: NameBook
  private readonly thinks: boolean

  constructor(target: Target, names: NameBook, thinks: boolean) {
    this.target = target
    this.names = names
    this.thinks = thinks
  }

  /** Roles must alternate, a user begins and ends, nothing is empty: chat promises none of this. */
  messages(history: readonly TurnMessage[]): WireMessage[] {
    const merged: WireMessage[] = []
    const after = rolesAfter(history)
    history.forEach((message, place) => {
      const last = merged.at(-1)
      const wire = this.message(message, { before: last?.role, after: after[place] })
      if (last?.role !== wire.role) merged.push(wire)
      else merged[merged.length - 1] = { role: wire.role, content: joined(last.content, wire.content) }
    })
    if (merged[0]?.role !== 'user') merged.unshift({ role: 'user', content: [] })
    return this.ended(merged).map(({ role, content }) => ({ role, content: plain(role, filled(content)) }))
  }

  private message(
    message: TurnMessage,
    around: { before: string | undefined; after: string | undefined },
  ): WireMessage {
    switch (message.role) {
      case 'system': {
        const isLegal = around.before !== 'assistant' && around.before !== undefined && around.after !== 'user'
        if (isLegal && this.target.capabilities.midSystem) return { role: 'system', content: message.text }
        return { role: 'user', content: [{ type: 'text', text: reminder(message.text) }] }
      }
      case 'assistant':
        return { role: 'assistant', content: message.parts.flatMap(part => this.assistantPart(part)) }
      case 'user':
        return { role: 'user', content: message.parts.map(part => this.userPart(part)) }
    }
  }

  /** A model that cannot go on with the assistant's words is asked to. */
  private ended(messages: readonly WireMessage[]): readonly WireMessage[] {
    const last = messages.at(-1)
    if (last?.role !== 'assistant') return messages
    if ((last.content as Block[]).every(isBlank)) return messages.slice(0, -1)
    if (!this.target.capabilities.prefill || this.thinks) {
      return [...messages, { role: 'user', content: [{ type: 'text', text: CONTINUE }] }]
    }
    const content = (last.content as Block[]).filter(block => !isBlank(block))
    const text = content.at(-1)
    if (typeof text?.text !== 'string') return messages
    return [
      ...messages.slice(0, -1),
      { ...last, content: [...content.slice(0, -1), { ...text, text: text.text.trimEnd() }] },
    ]
  }

  private userPart(part: UserPart): Block {
    return part.type === 'tool-result' ? this.result(part) : this.content(part)
  }

  private content(part: ContentPart): Block {
    switch (part.type) {
      case 'text':
        return { type: 'text', text: part.text, ...mark(part.cache) }
      case 'image':
        return { type: 'image', source: mediaSource(part.url), ...mark(part.cache) }
      case 'document': {
        const source = dataSource(part.url)
        if (!this.target.capabilities.documents || !source)
          throw invalid(part.param, 'must not be a file for this model')
        return { type: 'document', source, ...(part.name ? { title: part.name } : {}), ...mark(part.cache) }
      }
    }
  }

  private result({ id, parts, isError, cache }: ToolResult): Block {
    const said = parts.filter(part => part.type !== 'text' || part.text.trim() !== '')
    const [only] = said
    const content = said.length === 1 && only?.type === 'text' ? only.text : said.map(part => this.content(part))
    return {
      type: 'tool_result',
      tool_use_id: id,
      ...(said.length > 0 ? { content } : {}),
      ...(isError ? { is_error: true } : {}),
      ...mark(cache),
    }
  }

  private assistantPart(part: AssistantPart): Block[] {
    switch (part.type) {
      case 'text':
        return [{ type: 'text', text: part.text, ...mark(part.cache) }]
      case 'thinking':
        return this.thought(part)
      case 'tool-call': {
        const { id, name, cache } = part
        const input = toolInput(part.arguments)
        return [{ type: 'tool_use', id, name: this.names.legal(name), input, ...mark(cache) }]
      }
    }
  }

  /** Only the vendor that made a thought can take it back: its signature is checked. */
  private thought({ text, signature, sealed }: Extract<AssistantPart, { type: 'thinking' }>): Block[] {
    if (sealed !== undefined) return [{ type: 'redacted_thinking', data: sealed }]
    if (signature) return [{ type: 'thinking', thinking: text, signature }]
    this.dropped.add('reasoning_content')
    return []
  }
}

/** Who speaks next after each message, words of the system aside. */
function rolesAfter(history: readonly TurnMessage[]): (string | undefined)[] {
  const after: (string | undefined)[] = []
  let next: string | undefined
  for (let place = history.length - 1; place >= 0; place--) {
    after[place] = next
    if (history[place]?.role !== 'system') next = history[place]?.role
  }
  return after
}

function joined(first: WireMessage['content'], second: WireMessage['content']): WireMessage['content'] {
  if (typeof first === 'string' || typeof second === 'string') return `${first}\n${second}`
  // The first is ours alone by now; copying it again for each of many messages would take the square of their number.
  for (const block of second) first.push(block)
  return first
}

const isBlank = ({ type, text }: Block): boolean => type === 'text' && typeof text === 'string' && text.trim() === ''

/** What the assistant says in one piece is a string, as everybody writes it. */
function plain(role: string, content: string | Block[]): string | Block[] {
  const [only, ...others] = content
  const isPlain = role === 'assistant' && typeof only === 'object' && others.length === 0 && !('cache_control' in only)
  return isPlain && only.type === 'text' ? textOf(only.text) : content
}

/** Results first, nothing blank, never nothing at all. */
function filled(content: string | Block[]): string | Block[] {
  if (typeof content === 'string') return content
  const said = content.filter(block => !isBlank(block))
  const results = said.filter(({ type }) => type === 'tool_result')
  const all = [...results, ...said.filter(({ type }) => type !== 'tool_result')]
  return all.length > 0 ? all : [{ type: 'text', text: PLACEHOLDER }]
}
