import type { ProtocolName } from '../../src/core/ask.ts'
import { GatewayError } from '../../src/core/failure.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { FoldedStream } from '../../src/gateway/fold.ts'
import type { Pair } from '../../src/gateway/pair.ts'
import { passthrough } from '../../src/gateway/passthrough.ts'
import { translate } from '../../src/gateway/translate.ts'
import type { AnswerStream, View } from '../../src/protocol/protocol.ts'
import { PROTOCOLS } from '../../src/protocol/protocols.ts'
import { SseReader } from '../../src/protocol/sse.ts'
import type { Random } from '../ledger/property/random.ts'
import { faultsInChat, faultsInMessages } from '../pairs/grammar.ts'
import type { JsonBody } from '../support/duet.ts'
import { askOf, someView, targetFor } from '../translation/property/play.ts'
import { chunksOf } from '../translation/property/wire.ts'
import { checkSize, refusing, withInput } from './bounds.ts'
import { CORPUS } from './corpus.ts'
import { mutatedBytes, mutatedJson } from './mutate.ts'

const BILL = { usage: NO_USAGE, cost: '0.001000' }

/** One answer that no vendor should give, to both kinds of callers. */
export function fuzzAnswer(random: Random): void {
  const upstream = random.pick(['chat', 'messages'] as const)
  const stage = { upstream, client: random.pick(['chat', 'messages'] as const), view: anyView(random) }
  const isStream = random.chance(0.7)
  const text = decoded(random, isStream ? someStream(random, upstream) : someBody(random, upstream))
  const check = isStream ? (random.chance(0.2) ? checkFolded : checkStream) : checkBody
  withInput(text, () => check(random, text, stage))
}

function decoded(random: Random, text: string): string {
  const bytes = new TextEncoder().encode(text)
  return new TextDecoder().decode(random.chance(0.15) ? mutatedBytes(random, bytes) : bytes)
}

interface Stage {
  readonly upstream: ProtocolName
  readonly client: ProtocolName
  readonly view: View
}

const anyView = (random: Random): View => ({
  ...someView(random),
  textTools: new Set(random.chance(0.2) ? ['run', 'weather'] : []),
  legacyCalls: random.chance(0.1),
  wantsJson: random.chance(0.1),
})

/** What callers ask for decides how an answer is read: as it is, or as the JSON that it should be. */
const FORMATS: readonly JsonBody[] = [
  {},
  {},
  { response_format: { type: 'json_object' } },
  { response_format: { type: 'json_object' }, tools: [{ type: 'function', function: { name: 'weather' } }] },
]

function pairFor(random: Random, { client, upstream }: Stage): Pair {
  const hello = { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] }
  const ask = askOf(client, { ...hello, ...(client === 'chat' ? random.pick(FORMATS) : {}) })
  const isLike = client === upstream
  const pair = isLike ? passthrough(ask, PROTOCOLS[client]) : translate(ask, PROTOCOLS[client], PROTOCOLS[upstream])
  pair.request(targetFor(upstream))
  return pair
}

// ── bodies ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const someBody = (random: Random, upstream: ProtocolName): string =>
  mutatedJson(random, random.pick(CORPUS[upstream].bodies))

function checkBody(random: Random, text: string, stage: Stage): void {
  const body = refusing(text, () => pairFor(random, stage).body(text, stage.view).render(BILL))
  if (body !== undefined) checkWhole(text, body)
  const played = refusing(text, () => pairFor(random, stage).bodyAsStream(text, stage.view))
  if (played) checkFrames(text, `${played.end()}${played.close(BILL)}`, { ...stage, isOurs: true })
}

function checkWhole(text: string, body: string): void {
  const { model, usage } = JSON.parse(body)
  if (model !== 'acme/swift-2') throw new Error(`another model answers: ${model}`)
  if (usage?.cost !== BILL.cost) throw new Error('the bill is missing')
  checkSize(text, body)
}

// ── streams ─────────────────────────────────────────────────────────────────────────────────────────────────────────

function checkStream(random: Random, text: string, stage: Stage): void {
  const chunks = chunksOf(random, text)
  const answer = pairFor(random, stage).stream(stage.view)
  const isShort = random.chance(0.1)
  const output = play(text, { answer, chunks, isShort, client: stage.client })
  checkFrames(text, output, { ...stage, isOurs: stage.client !== stage.upstream })
}

/** A stream for a caller who wants the whole of it, ended by its upstream or somewhere before that. */
function checkFolded(random: Random, text: string, stage: Stage): void {
  const stream = pairFor(random, stage).stream({ ...stage.view, includeUsage: true })
  const answer = new FoldedStream(stream, PROTOCOLS[stage.client].foldStream())
  const isShort = random.chance(0.3)
  const body = refusing(text, () => {
    const reader = new SseReader()
    const frames = [...chunksOf(random, text).flatMap(chunk => reader.push(chunk)), ...reader.end()]
    const passed = isShort ? frames.slice(0, random.between(0, frames.length)) : frames
    for (const frame of passed) if (!answer.done) answer.push(frame)
    const isCut = isShort && !answer.isComplete && !answer.done
    return `${isCut ? answer.shorten() : answer.end()}${answer.close(BILL)}`
  })
  if (body !== undefined) checkWhole(text, body)
}

/** Frames that are lost, come twice, or are not what they were. */
function someStream(random: Random, upstream: ProtocolName): string {
  const frames = [...random.pick(CORPUS[upstream].streams)]
  for (let changes = random.between(0, 3); changes > 0; changes--) {
    const at = random.between(0, frames.length)
    switch (random.pick(['remove', 'repeat', 'insert'])) {
      case 'remove':
        frames.splice(at, 1)
        break
      case 'repeat':
        frames.splice(at, 0, ...frames.slice(at, at + random.between(1, 4)))
        break
      case 'insert':
        frames.splice(at, 0, random.pick(random.pick(CORPUS[random.pick(['chat', 'messages'] as const)].streams)))
        break
    }
  }
  const changed = random.between(-1, frames.length - 1)
  const end = random.pick(['\n', '\n', '\r\n', '\r'])
  return frames
    .map((frame, place) => {
      const data = place === changed ? mutatedJson(random, frame) : frame === '[DONE]' ? frame : mended(frame)
      const name = frame?.type !== undefined && random.chance(0.7) ? `event: ${frame.type}${end}` : ''
      return `${name}data: ${data}${end}${end}`
    })
    .join('')
}

const mended = (frame: JsonBody): string => JSON.stringify(frame) ?? 'null'

interface Playing {
  readonly answer: AnswerStream
  readonly chunks: readonly Uint8Array[]
  readonly client: ProtocolName
  /** The money runs out as soon as something has been said. */
  readonly isShort: boolean
}

/** What a caller gets to see, with the failure that ended it, if one did. */
function play(text: string, { answer, chunks, client, isShort }: Playing): string {
  const reader = new SseReader()
  let output = ''
  const isOver = () => answer.done || (isShort && output !== '' && !answer.isComplete)
  const push = (frames: ReturnType<SseReader['push']>) => {
    for (const frame of frames) if (!isOver()) output += answer.push(frame)
  }
  const ended = refusing(text, () => {
    for (const chunk of chunks) push(reader.push(chunk))
    push(reader.end())
    if (isShort && output !== '' && !answer.isComplete && !answer.done) return answer.shorten() + answer.close(BILL)
    return answer.end() + answer.close(BILL)
  })
  if (ended !== undefined) return output + ended
  const { failure } = new GatewayError({ kind: 'upstream-error', problem: 'The upstream broke' })
  return output === '' ? '' : output + PROTOCOLS[client].errorFrames(failure, { requestId: 'req' })
}

interface Written extends Stage {
  /** Written by us from what was understood, and not passed on. */
  readonly isOurs: boolean
}

function checkFrames(text: string, output: string, { client, view, isOurs }: Written): void {
  checkSize(text, output)
  if (output === '') return
  for (const frame of output.slice(0, -2).split('\n\n')) checkFrame(frame, client)
  // The checkers know neither plain-text tools nor the calls from before `tools`, nor line separators in texts.
  const isPlain = view.textTools.size === 0 && !view.legacyCalls && !/[\u2028\u2029]/.test(output)
  if (!isOurs || !isPlain) return
  const faults = client === 'chat' ? faultsInChat(output, { usageAsked: view.includeUsage }) : faultsInMessages(output)
  if (faults.length > 0) throw new Error(faults.join('\n'))
}

function checkFrame(frame: string, client: ProtocolName): void {
  const [first = '', second] = frame.split('\n')
  const isNamed = client === 'messages'
  const data = isNamed ? second : first
  if (isNamed && !/^event: [\w.-]+$/.test(first)) throw new Error(`no event is named: ${frame}`)
  if (frame.split('\n').length !== (isNamed ? 2 : 1) || !data?.startsWith('data: '))
    throw new Error(`no frame: ${frame}`)
  if (isNamed || data !== 'data: [DONE]') JSON.parse(data.slice(6))
}
