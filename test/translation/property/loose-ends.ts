import type { Target } from '../../../src/protocol/protocol.ts'
import type { JsonBody } from '../../support/duet.ts'
import { Faults, isBlank, isText } from './rules.ts'

/** What a message says of tools. */
interface Exchange {
  readonly role: string
  readonly calls: readonly string[]
  readonly results: readonly string[]
}

/** Calls and results that have lost each other; servers join what one side says in several messages. */
function checkExchanges(faults: Faults, exchanges: readonly Exchange[]): void {
  let open: string[] = []
  let isAnswering = false
  for (const { role, calls, results } of exchanges) {
    if (role === 'assistant') {
      if (isAnswering) faults.check('calls are answered', open.length === 0)
      if (isAnswering) open = []
      open.push(...calls)
      isAnswering = false
    } else isAnswering = true
    for (const id of results) {
      faults.check('results answer calls', open.includes(id))
      open.splice(open.indexOf(id), open.includes(id) ? 1 : 0)
    }
  }
  faults.check('calls are answered', open.length === 0)
}

export function looseEndsInChat(text: string): string[] {
  const faults = new Faults()
  const { messages }: JsonBody = JSON.parse(text)
  checkExchanges(
    faults,
    messages.map(({ role, tool_calls, tool_call_id }: JsonBody) => ({
      role,
      calls: (tool_calls ?? []).map(({ id }: JsonBody) => id),
      results: role === 'tool' ? [tool_call_id] : [],
    })),
  )
  return [...faults.found]
}

export function looseEndsInMessages(text: string, { capabilities: can }: Target): string[] {
  const faults = new Faults()
  const { messages, system }: JsonBody = JSON.parse(text)
  checkExchanges(
    faults,
    messages.map((message: JsonBody) => ({
      role: message.role,
      calls: blocksOf(message).flatMap(({ type, id }) => (type === 'tool_use' ? [id] : [])),
      results: blocksOf(message).flatMap(({ type, tool_use_id: id }) => (type === 'tool_result' ? [id] : [])),
    })),
  )
  faults.check('a user begins', messages[0].role === 'user')
  faults.check('the system says something', system === undefined || !isText(system) || !isBlank(system))
  messages.forEach((message: JsonBody, place: number) => {
    const [before, after] = [messages[place - 1]?.role, messages[place + 1]?.role]
    const isPlaced = can.midSystem && before === 'user' && (after === undefined || after === 'assistant')
    faults.check('the system speaks where it may', message.role !== 'system' || isPlaced)
    faults.check('a message has content', blocksOf(message).length > 0)
    for (const block of blocksOf(message)) checkBlock(faults, block)
  })
  return [...faults.found]
}

const blocksOf = ({ content }: JsonBody): JsonBody[] => (isText(content) ? [{ type: 'text', text: content }] : content)

function checkBlock(faults: Faults, { type, text, id, tool_use_id, signature }: JsonBody): void {
  faults.check('a text says something', type !== 'text' || !isBlank(text))
  faults.check('ids are legal', /^[A-Za-z0-9_-]+$/.test(id ?? tool_use_id ?? 'none'))
  faults.check('a thought is signed', type !== 'thinking' || Boolean(signature))
}
