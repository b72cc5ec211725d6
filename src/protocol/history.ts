import type { AssistantPart, ToolCall, ToolResult, TurnMessage, UserPart } from '../core/turn.ts'

export interface HistoryRules {
  /** Calls and results that have lost each other are mended. */
  readonly repair: boolean
  /** An id as the receiving dialect takes it. */
  legalId(id: string): string
}

/**
 * What servers of both dialects ask of a conversation and clients do not always give: all calls of a turn stand
 * together, their results follow at once, together and in the same order, before anything else is said, and an id
 * stands for one call of the whole conversation.
 */
export function arrangeHistory(messages: readonly TurnMessage[], rules: HistoryRules): TurnMessage[] {
  const history = new History(rules)
  for (const message of messages) history.add(message)
  return history.end()
}

/** A call of the assistant's latest turn, under the id it goes by from here on. */
interface OpenCall {
  readonly id: string
  result: ToolResult | undefined
}

class History {
  private readonly rules: HistoryRules
  private readonly ids: UniqueIds
  private readonly arranged: TurnMessage[] = []
  /** The parts of the assistant's latest turn: copying them for each message of it would take the square of their number. */
  private said: AssistantPart[] = []
  private calls: OpenCall[] = []
  /** Those that wait for a result, by the id the caller gave them. */
  private readonly waiting = new Map<string, OpenCall[]>()
  /** The parts of the message behind the calls, once anybody but the assistant has spoken. */
  private results: UserPart[] | undefined

  constructor(rules: HistoryRules) {
    this.rules = rules
    this.ids = new UniqueIds(rules.legalId)
  }

  add(message: TurnMessage): void {
    switch (message.role) {
      case 'assistant':
        this.assistant(message.parts)
        break
      case 'user':
        this.user(message.parts)
        break
      case 'system':
        if (message.text.trim() === '') break
        this.makeRoom()
        this.arranged.push(message)
    }
  }

  end(): TurnMessage[] {
    this.settle()
    return this.arranged
  }

  private assistant(parts: readonly AssistantPart[]): void {
    const last = this.arranged.at(-1)
    const goesOn = last?.role === 'assistant' && this.calls.length > 0 ? last : undefined
    if (!goesOn) this.settle()
    const named = parts.map(part => (part.type === 'tool-call' ? this.open(part) : part))
    if (goesOn) appendAll(this.said, named)
    else {
      this.said = named
      this.arranged.push({ role: 'assistant', parts: this.said })
    }
  }

  private open(call: ToolCall): ToolCall {
    const id = this.ids.next(call.id)
    const open = { id, result: undefined }
    this.calls.push(open)
    const others = this.waiting.get(call.id)
    if (others) others.push(open)
    else this.waiting.set(call.id, [open])
    return { ...call, id }
  }

  private user(parts: readonly UserPart[]): void {
    this.makeRoom()
    const said = parts.flatMap(part => (part.type === 'tool-result' ? this.answer(part) : [part]))
    if (said.length > 0 || parts.length === 0) this.arranged.push({ role: 'user', parts: said })
  }

  private answer(result: ToolResult): UserPart[] {
    const call = this.waiting.get(result.id)?.shift()
    if (!call) return this.rules.repair ? asText(result) : [{ ...result, id: this.rules.legalId(result.id) }]
    call.result = { ...result, id: call.id }
    return []
  }

  /** Whatever is said next comes behind the results, even if they come later. */
  private makeRoom(): void {
    if (this.calls.length === 0 || this.results) return
    this.results = []
    this.arranged.push({ role: 'user', parts: this.results })
  }

  private settle(): void {
    const given = this.calls.flatMap(({ id, result }) => result ?? (this.rules.repair ? missing(id) : []))
    if (given.length > 0) this.makeRoom()
    if (this.results) appendAll(this.results, given)
    this.calls = []
    this.waiting.clear()
    this.results = undefined
  }
}

/** Spreading a long list over the arguments of a call exhausts the stack. */
function appendAll<T>(list: T[], more: readonly T[]): void {
  for (const item of more) list.push(item)
}

/** Chat lets every turn number its calls anew. */
export class UniqueIds {
  private readonly legalId: (id: string) => string
  private readonly uses = new Map<string, number>()

  constructor(legalId: (id: string) => string) {
    this.legalId = legalId
  }

  next(id: string): string {
    const legal = this.legalId(id)
    const uses = (this.uses.get(legal) ?? 0) + 1
    this.uses.set(legal, uses)
    return uses === 1 ? legal : this.next(`${legal}_${uses}`)
  }
}

export const MISSING_RESULT = 'No result of this call was recorded.'

const missing = (id: string): ToolResult => ({
  type: 'tool-result',
  id,
  parts: [{ type: 'text', text: MISSING_RESULT }],
  isError: true,
})

export const orphanText = (id: string, text: string): string => `[Result of an unknown tool call, ${id}] ${text}`

/** A result of no call would be refused; what it says may still matter. */
function asText({ id, parts }: ToolResult): UserPart[] {
  const texts = parts.flatMap(part => (part.type === 'text' ? [part.text] : []))
  return [{ type: 'text', text: orphanText(id, texts.join('\n')) }, ...parts.filter(({ type }) => type !== 'text')]
}
