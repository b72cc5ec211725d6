import { describe, test } from 'bun:test'
import type { Ask, ProtocolName } from '../../../src/core/ask.ts'
import { GatewayError } from '../../../src/core/failure.ts'
import type { EncodedRequest, Target } from '../../../src/protocol/protocol.ts'
import { PROTOCOLS } from '../../../src/protocol/protocols.ts'
import { eachCase, type Random, same, TIME_MS_MAX } from './cases.ts'
import { someChatRequest } from './chat-request.ts'
import { faultsInChatRequest } from './chat-rules.ts'
import { looseEndsInChat, looseEndsInMessages } from './loose-ends.ts'
import { someMessagesRequest } from './messages-request.ts'
import { faultsInMessagesRequest } from './messages-rules.ts'
import { someTarget } from './targets.ts'

const CASES = 700

function someAsk(random: Random, protocol: ProtocolName): Ask {
  const isFair = random.chance(0.2)
  const text =
    protocol === 'chat' ? JSON.stringify(someChatRequest(random, { isFair })) : someMessagesRequest(random, { isFair })
  return PROTOCOLS[protocol].read(JSON.parse(text), text)
}

const faultsIn: Record<ProtocolName, (body: string, target: Target) => string[]> = {
  chat: faultsInChatRequest,
  messages: faultsInMessagesRequest,
}

/** Undefined where the request is refused, which is an answer, too. */
function encoded(ask: Ask, upstream: ProtocolName, target: Target): EncodedRequest | undefined {
  try {
    return PROTOCOLS[upstream].encodeRequest(PROTOCOLS[ask.protocol].decodeRequest(ask), target)
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error
  }
}

describe('whatever a caller sends, an unlike upstream gets a request that it would take', () => {
  for (const upstream of ['messages', 'chat'] as const) {
    test(
      upstream,
      () =>
        eachCase(CASES, random => {
          const ask = someAsk(random, upstream === 'messages' ? 'chat' : 'messages')
          const target = someTarget(random, upstream)
          const request = encoded(ask, upstream, target)
          if (!request) return
          const about = () => `${ask.source.text}\n---\n${request.body}\n---\n${JSON.stringify(target)}`
          same(faultsIn[upstream](request.body, target), [], about)
        }),
      TIME_MS_MAX,
    )
  }
})

describe('whatever a caller sends, a like upstream gets a conversation that it would take', () => {
  for (const protocol of ['messages', 'chat'] as const) {
    test(
      protocol,
      () =>
        eachCase(CASES, random => {
          const ask = someAsk(random, protocol)
          const some = someTarget(random, protocol)
          const target = { ...some, capabilities: { ...some.capabilities, repair: true } }
          const { body } = PROTOCOLS[protocol].editRequest(ask, target)
          const about = () => `${ask.source.text}\n---\n${body}\n---\n${JSON.stringify(target)}`
          same(protocol === 'chat' ? looseEndsInChat(body) : looseEndsInMessages(body, target), [], about)
        }),
      TIME_MS_MAX,
    )
  }
})
