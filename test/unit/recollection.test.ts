import { describe, expect, test } from 'bun:test'
import { GatewayError } from '../../src/core/failure.ts'
import type { Source } from '../../src/core/source.ts'
import { Recollection } from '../../src/gateway/recollection.ts'
import { TextSource } from '../../src/protocol/json.ts'
import { LongBody } from '../../src/protocol/long-body.ts'
import { Random } from '../ledger/property/random.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

const longBody = (text: string): LongBody => {
  const long = LongBody.of(bytesOf(text), text, JSON.parse(text))
  if (!long) throw new Error(`not remembered: ${text.slice(0, 80)}`)
  return long
}

const CHANGES = new Map([
  ['model', '"vendors-name"'],
  ['user', undefined],
  ['stream_options', '{"include_usage":true}'],
])

const joined = (written: string | readonly Uint8Array[]): string =>
  typeof written === 'string' ? written : Buffer.concat(written).toString()

/** All that anyone can ask a source, beside what a first reading of the text gives. */
function expectSame(source: Source & { readonly body: unknown }, text: string): void {
  const anew = new TextSource(text)
  expect(source.body).toEqual(JSON.parse(text))
  expect(joined(source.edited(CHANGES))).toBe(joined(anew.edited(CHANGES)))
  expect(source.sizeOf(() => true)).toEqual(anew.sizeOf(() => true))
  expect(source.sizeOf(key => key === 'messages')).toEqual(anew.sizeOf(key => key === 'messages'))
  expect(source.members).toEqual(anew.members)
  expect(source.text).toBe(text)
}

const WORDS = [
  'plain',
  'with "quotes"',
  'lines\nand\ttabs',
  'käse',
  '漢字',
  '😀',
  '\\',
  ']',
  '},{',
  '"messages":[',
  '\u0000',
]
const TAILS = ['', ',"max_tokens":5', ',"tools":[{"name":"käse"}],"stream":true', ',"user":"é", "n" : 1']
const BLANKS = ['', '', '', ' ', '\n  ']

function message(random: Random): string {
  const content = Array.from({ length: random.between(1, 40) }, () => random.pick(WORDS)).join(' ')
  const role = random.pick(['user', 'assistant'])
  return random.chance(0.8)
    ? JSON.stringify({ role, content })
    : JSON.stringify({ role, content: [{ text: content }] }, null, 1)
}

interface Conversation {
  readonly head: string
  readonly messages: string[]
  readonly tail: string
}

const written = ({ head, messages, tail }: Conversation, blank = ''): string =>
  `${head}[${messages.join(`${blank},${blank}`)}]${tail}}`

const someConversation = (random: Random): Conversation => ({
  head: random.pick(['{"model":"m","messages":', '{"messages" :', ' {"model":"é","temperature":0.5,\n"messages":']),
  messages: Array.from({ length: random.between(1, 6) }, () => message(random)),
  tail: random.pick(TAILS),
})

describe('a long body', () => {
  test('says the same when it is read as what follows another', () => {
    const random = new Random(7)
    for (let run = 0; run < 300; run++) {
      const conversation = someConversation(random)
      const blank = random.pick(BLANKS)
      let known = longBody(written(conversation, blank))
      expectSame(known, written(conversation, blank))
      for (let turn = 0; turn < 4; turn++) {
        const { messages } = conversation
        if (random.chance(0.3)) messages.splice(random.between(1, messages.length))
        if (random.chance(0.9)) messages.push(message(random))
        if (random.chance(0.5)) messages.push(message(random))
        const text = written(conversation, blank)
        const following = known.followedBy(bytesOf(text))
        if (!following) throw new Error(`not recognised: ${text}`)
        expectSame(following, text)
        known = following
      }
    }
  })

  test('is never taken for what it is not, whatever is changed in it', () => {
    const random = new Random(11)
    const odd = [
      '"',
      '\\',
      ']',
      '}',
      '{',
      '[',
      ',',
      '.5',
      '0',
      ' ',
      '],"model":"x","messages":[',
      ',"messages":[]',
      '\ufeff',
      'é',
    ]
    let recognised = 0
    for (let run = 0; run < 5_000; run++) {
      const conversation = someConversation(random)
      if (random.chance(0.2)) conversation.messages.splice(0, 1, random.pick(['1', '"a"', 'null', '[]', '1e5']))
      const text = written(conversation, random.pick(BLANKS))
      const known = longBody(text)
      const at = random.between(0, text.length)
      const cut = random.chance(0.5) ? 0 : random.between(0, 3)
      const changed = bytesOf(text.slice(0, at) + random.pick(odd) + text.slice(at + cut))
      if (random.chance(0.1)) changed[random.between(0, changed.length - 1)] = random.between(128, 255)
      const following = known.followedBy(changed)
      if (!following) continue
      recognised++
      const decoded = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(changed)
      expectSame(following, decoded)
    }
    expect(recognised).toBeGreaterThan(100)
  })

  test('with a key twice is not remembered', () => {
    for (const text of [
      '{"messages":[{}],"messages":[{}]}',
      '{"model":"a","messages":[{}],"model":"b"}',
      '{"messages":[]}',
    ]) {
      expect(LongBody.of(bytesOf(text), text, JSON.parse(text))).toBeUndefined()
    }
  })

  test('goes on in the pieces that came in', () => {
    const text = `{"model":"m","messages":[{"role":"user","content":"${'x'.repeat(9_000)}"}],"stream":true}`
    const bytes = bytesOf(text)
    const long = LongBody.of(bytes, text, JSON.parse(text))
    const pieces = long?.edited(CHANGES) ?? []
    expect(pieces.some(({ buffer, byteLength }) => buffer === bytes.buffer && byteLength > 9_000)).toBe(true)
  })
})

describe('recollection', () => {
  const turns = (count: number, who = 'a'): Uint8Array =>
    bytesOf(
      JSON.stringify({
        model: who,
        messages: Array.from({ length: count }, () => ({ role: 'user', content: 'x'.repeat(2_000) })),
      }),
    )
  const contentsOf = ({ body }: { body: { readonly messages?: unknown } }) => body.messages as readonly unknown[]

  /** As a request that was let in. */
  const take = (recollection: Recollection, bytes: Uint8Array, key: string) => {
    const reading = recollection.read(bytes, key)
    recollection.keep(reading.source, key)
    return reading
  }

  test('knows a conversation again, for its own key only', () => {
    const recollection = new Recollection({ clock: () => 0 })
    const first = contentsOf(take(recollection, turns(6), 'key'))
    expect(contentsOf(take(recollection, turns(7), 'key'))[0]).toBe(first[0])
    const ofAnother = contentsOf(take(recollection, turns(7), 'other'))
    expect(ofAnother[0]).not.toBe(first[0])
    expect(ofAnother).toEqual(contentsOf(take(recollection, turns(7), 'key')))
  })

  test('forgets after a while', () => {
    let now = 0
    const recollection = new Recollection({ clock: () => now })
    const first = contentsOf(take(recollection, turns(6), 'key'))
    now = 299_000
    recollection.forgetExpired()
    expect(contentsOf(take(recollection, turns(7), 'key'))[0]).toBe(first[0])
    now = 900_000
    recollection.forgetExpired()
    expect(contentsOf(take(recollection, turns(8), 'key'))[0]).not.toBe(first[0])
  })

  test('keeps to its limit, and forgets those first who have been away longest', () => {
    const recollection = new Recollection({ clock: () => 0, bytesMax: 30_000 })
    const [one, two] = ['one', 'two'].map(key => contentsOf(take(recollection, turns(6, key), key)))
    expect(contentsOf(take(recollection, turns(6, 'one'), 'one'))[0]).toBe(one?.[0])
    take(recollection, turns(6, 'three'), 'three')
    expect(contentsOf(take(recollection, turns(6, 'one'), 'one'))[0]).toBe(one?.[0])
    expect(contentsOf(take(recollection, turns(6, 'two'), 'two'))[0]).not.toBe(two?.[0])
  })

  test('remembers nothing of a request that was not let in', () => {
    const recollection = new Recollection({ clock: () => 0 })
    const first = contentsOf(recollection.read(turns(6), 'key'))
    expect(contentsOf(recollection.read(turns(7), 'key'))[0]).not.toBe(first[0])
  })

  test('knows several conversations of a key apart that begin alike', () => {
    const recollection = new Recollection({ clock: () => 0 })
    const told = (who: string, count: number) => {
      const system = { role: 'system', content: 's'.repeat(3_000) }
      const rest = Array.from({ length: count }, () => ({ role: 'user', content: who.repeat(2_000) }))
      return bytesOf(JSON.stringify({ model: 'm', messages: [system, ...rest] }))
    }
    const [a, b] = ['a', 'b'].map(who => contentsOf(take(recollection, told(who, 5), 'key')))
    expect(contentsOf(take(recollection, told('a', 6), 'key'))[3]).toBe(a?.[3])
    expect(contentsOf(take(recollection, told('b', 6), 'key'))[3]).toBe(b?.[3])
  })

  test('refuses what is no JSON object, long or short', () => {
    const recollection = new Recollection({ clock: () => 0 })
    take(recollection, turns(6), 'key')
    const broken = turns(7)
    broken[broken.length - 3] = 0x2c
    const foreign = turns(6)
    foreign[9_000] = 0xff
    for (const bytes of [broken, foreign, bytesOf('[]'), bytesOf('{'), new Uint8Array()]) {
      expect(() => recollection.read(bytes, 'key')).toThrow(GatewayError)
    }
  })
})
