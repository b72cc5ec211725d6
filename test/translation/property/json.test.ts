import { describe, test } from 'bun:test'
import type { ProtocolName } from '../../../src/core/ask.ts'
import { DEFAULT_CAPABILITIES } from '../../../src/core/capabilities.ts'
import { NO_USAGE } from '../../../src/core/usage.ts'
import type { Pair } from '../../../src/gateway/pair.ts'
import { passthrough } from '../../../src/gateway/passthrough.ts'
import { translate } from '../../../src/gateway/translate.ts'
import { PROTOCOLS } from '../../../src/protocol/protocols.ts'
import { faultsInChat } from '../../pairs/grammar.ts'
import type { JsonBody } from '../../support/duet.ts'
import { type Answer, type Block, callsIn, saidIn, someUsage } from './answer.ts'
import { eachCase, type Random, same, TIME_MS_MAX } from './cases.ts'
import { chatBody, chatFrames } from './chat-vendor.ts'
import { hearBody, hearChat } from './heard.ts'
import { messagesBody, messagesFrames } from './messages-vendor.ts'
import { askOf, COST, play, someView, targetFor } from './play.ts'
import { isObject } from './rules.ts'
import { plainId, someArguments, someText } from './texts.ts'
import { chunksOf, streamText } from './wire.ts'

const CASES = 200
const TOOL = 'count'

interface Way {
  readonly upstream: ProtocolName
  /** Tools beside the JSON: where there are some, the model is asked for it in words. */
  readonly hasTools: boolean
  /** The upstream has a JSON mode of its own, and is only passed on. */
  readonly isPassedOn: boolean
}

const WAYS: Readonly<Record<string, Way>> = {
  'a messages upstream that must call a tool for it': { upstream: 'messages', hasTools: false, isPassedOn: false },
  'a messages upstream that is asked in words': { upstream: 'messages', hasTools: true, isPassedOn: false },
  'a chat upstream that is asked in words': { upstream: 'chat', hasTools: true, isPassedOn: false },
  'a chat upstream with a JSON mode': { upstream: 'chat', hasTools: true, isPassedOn: true },
}

function pairOf({ upstream, hasTools, isPassedOn }: Way): Pair {
  const tools = [{ type: 'function', function: { name: TOOL } }]
  const ask = askOf('chat', {
    ...{ model: 'm', messages: [{ role: 'user', content: 'JSON, please' }], response_format: { type: 'json_object' } },
    ...(hasTools ? { tools } : {}),
  })
  const { chat } = PROTOCOLS
  const pair = isPassedOn ? passthrough(ask, chat) : translate(ask, chat, PROTOCOLS[upstream])
  const capabilities = { ...DEFAULT_CAPABILITIES[upstream], jsonObject: isPassedOn }
  pair.request(targetFor(upstream, { capabilities }))
  return pair
}

const DOCUMENTS = ['{"a":1}', '{}', '{"a":"}{\\"","b":[{}]}', '{"😀":"汉字"}', '{\n "a" : [1, 2]\n}']
const PROSE = ['', 'Sure! ', '```json\n', 'no JSON at all', '😀 ', '[1, 2] ']
/** A vendor with a JSON mode does not write these before its document. */
const BRACES = ['{not json} ', 'Use {name}: ', '{"a": oops} ']

function someWords(random: Random, { isPassedOn }: Way): string {
  const before = random.pick(isPassedOn ? PROSE : [...PROSE, ...BRACES])
  const document = random.chance(0.8) ? random.pick(DOCUMENTS) : ''
  return `${before}${document}${document === '' ? '' : random.pick(['', '\n```', ' Done.', ' {"b":2}'])}`
}

function jsonAnswer(random: Random, way: Way): Answer {
  const call = (name: string): Block => ({
    ...{ type: 'call', id: plainId(random), name, arguments: someArguments(random) },
  })
  const thought: Block[] = random.chance(0.3) ? [{ type: 'thinking', text: someText(random, 1) }] : []
  const text: Block[] = [{ type: 'text', text: someWords(random, way) }]
  const isOutput = way.upstream === 'messages' && !way.hasTools && random.chance(0.7)
  const calls = isOutput ? [call('structured_output')] : way.hasTools && random.chance(0.2) ? [call(TOOL)] : []
  const reason = calls.length > 0 ? 'tool-calls' : random.weighted({ stop: 8, length: 2 })
  const said = random.chance(0.5) || calls.length === 0 ? text : []
  return {
    blocks: [...thought, ...said, ...calls].filter(block => block.type !== 'text' || block.text !== ''),
    ...{ reason, stopSequence: undefined, usage: someUsage(random), word: 0 },
  }
}

describe('an answer in JSON mode is JSON, streamed or whole, by', () => {
  for (const [name, way] of Object.entries(WAYS)) {
    test(name, () => eachCase(CASES, random => checkJson(random, way)), TIME_MS_MAX)
  }
})

function checkJson(random: Random, way: Way): void {
  const answer = jsonAnswer(random, way)
  const view = { ...someView(random), includeUsage: true, wantsJson: true }
  const frames = (way.upstream === 'chat' ? chatFrames : messagesFrames)(random, answer, 'plain')
  const { output } = play(pairOf(way).stream(view), chunksOf(random, streamText(random, frames)))
  const text = (way.upstream === 'chat' ? chatBody : messagesBody)(answer)
  const { seen, render } = pairOf(way).body(text, view)
  const body = render({ usage: seen.usage ?? NO_USAGE, cost: COST })
  const about = () => `${text}\n---\n${output}\n---\n${body}`
  same(faultsInChat(output, { usageAsked: true }), [], about)
  same(hearBody(body, []), hearChat(output), about)
  const heard = hearChat(output)
  const isWhole = heard.finish === 'stop' && (saidIn(answer, 'text') !== '' || callsIn(answer).length > 0)
  if (isWhole) same(isObject(parsed(heard.text)), true, about)
}

function parsed(text: string): JsonBody {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
