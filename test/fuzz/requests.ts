import { type Ask, isObject, type ProtocolName } from '../../src/core/ask.ts'
import { withoutImages } from '../../src/protocol/images.ts'
import { droppedNames } from '../../src/protocol/names.ts'
import { PROTOCOLS } from '../../src/protocol/protocols.ts'
import type { Random } from '../ledger/property/random.ts'
import { someTarget } from '../translation/property/targets.ts'
import { checkSize, refusing, withInput } from './bounds.ts'
import { CORPUS } from './corpus.ts'
import { mutatedBytes, mutatedJson } from './mutate.ts'

/** One request that nobody should send, to both kinds of upstream. */
export function fuzzRequest(random: Random): void {
  const protocol = random.pick(['chat', 'messages'] as const)
  const text = someRequest(random, protocol)
  withInput(text, () => checkRequest(random, protocol, text))
}

function checkRequest(random: Random, protocol: ProtocolName, text: string): void {
  const body = parsed(text)
  // What is no JSON object, or names no model, is refused before anybody looks further.
  if (!isObject(body) || typeof body.model !== 'string' || body.model === '') return
  const ask = refusing(text, () => PROTOCOLS[protocol].read(body, text))
  if (!ask) return
  checkBoth(random, ask)
  if (ask.images.length > 0) checkBoth(random, withImagesDropped(ask))
}

function someRequest(random: Random, protocol: ProtocolName): string {
  const text = mutatedJson(random, random.pick(CORPUS[protocol].requests))
  if (!random.chance(0.15)) return new TextDecoder().decode(new TextEncoder().encode(text))
  return new TextDecoder().decode(mutatedBytes(random, new TextEncoder().encode(text)))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function withImagesDropped(ask: Ask): Ask {
  const text = withoutImages(ask.source, ask.images)
  return PROTOCOLS[ask.protocol].read(JSON.parse(text), text)
}

function checkBoth(random: Random, ask: Ask): void {
  const other = ask.protocol === 'chat' ? 'messages' : 'chat'
  const unlike = refusing(ask.source.text, () => {
    const turn = PROTOCOLS[ask.protocol].decodeRequest(ask)
    return PROTOCOLS[other].encodeRequest(turn, someTarget(random, other))
  })
  if (unlike) checkWritten(ask, unlike)
  const like = refusing(ask.source.text, () =>
    PROTOCOLS[ask.protocol].editRequest(ask, someTarget(random, ask.protocol)),
  )
  if (like) checkWritten(ask, like)
}

function checkWritten(
  { source: { text } }: Ask,
  { body, dropped }: { body: string; dropped: readonly string[] },
): void {
  const sent = JSON.parse(body)
  if (sent.model !== 'the-vendors-own-name') throw new Error(`another model is asked for: ${sent.model}`)
  if (!Array.isArray(sent.messages) || sent.messages.length === 0) throw new Error('nothing is asked')
  checkSize(text, body)
  new Headers({ 'x-duet-dropped': droppedNames(dropped).join(',') })
}
