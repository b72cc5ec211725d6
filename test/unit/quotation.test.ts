import { describe, expect, test } from 'bun:test'
import { withoutQuotations } from '../../src/core/quotation.ts'

const SECRET = 'the launch code is 4711'

const requestOf = (more: object): string => JSON.stringify({ model: 'acme/swift', ...more })
const saying = (content: unknown): string => requestOf({ messages: [{ role: 'user', content }] })

describe('what a vendor says', () => {
  test('stays as it is where it quotes nothing', () => {
    const words = 'temperature must be at most 2'
    expect(withoutQuotations(words, saying(SECRET))).toBe(words)
  })

  test('loses what it quotes, and keeps the rest', () => {
    expect(withoutQuotations(`bad word in "${SECRET}" at 7`, saying(SECRET))).toBe('bad word in "…" at 7')
  })

  test('loses a part of a text as well, whichever part it is', () => {
    const long = `Once upon a time. ${SECRET}. They lived happily.`
    expect(withoutQuotations(`near «${SECRET}»`, saying(long))).toBe('near «…»')
    expect(withoutQuotations(`it begins with ${long.slice(0, 20)}`, saying(long))).toBe('it begins with …')
    expect(withoutQuotations(`${long.slice(-20)} is how it ends`, saying(long))).toBe('… is how it ends')
  })

  test('loses each of several quotations', () => {
    const request = requestOf({ messages: [{ content: SECRET }, { content: 'another confidential line' }] })
    const words = `${SECRET}; another confidential line; ${SECRET}`
    expect(withoutQuotations(words, request)).toBe('…; …; …')
  })

  test('loses what it quotes in a script that needs few characters, and keeps the words of others', () => {
    const secret = '发射密码是四七一一'
    expect(withoutQuotations(`invalid text "${secret}"`, saying(`请记住：${secret}。`))).toBe('invalid text "…"')
    expect(withoutQuotations('参数 temperature 太大', saying(secret))).toBe('参数 temperature 太大')
  })

  test('loses all of itself where all of it is a quotation', () => {
    expect(withoutQuotations(SECRET, saying(SECRET))).toBe('…')
  })

  test('has words in common with a prompt that are no quotation: fewer than twelve characters in a row', () => {
    const [eleven, twelve] = ['abcdefghijk', 'abcdefghijkl']
    expect(withoutQuotations(`see ${eleven}!`, saying(eleven))).toBe(`see ${eleven}!`)
    expect(withoutQuotations(`see ${eleven}!`, saying(twelve))).toBe(`see ${eleven}!`)
    expect(withoutQuotations(`see ${twelve}!`, saying(twelve))).toBe('see …!')
  })

  test('names models and options, which nobody said', () => {
    const request = requestOf({ model: 'acme/a-model-with-a-long-name', user: 'somebody-with-a-name', messages: [] })
    const words = 'acme/a-model-with-a-long-name is not for somebody-with-a-name'
    expect(withoutQuotations(words, request)).toBe(words)
  })
})

describe('a quotation is found', () => {
  const PLACES: readonly [where: string, request: string][] = [
    ['in a message', saying(SECRET)],
    ['in a part of a message', saying([{ type: 'text', text: SECRET }])],
    ['in the instructions', requestOf({ messages: [], system: SECRET })],
    ['in a part of the instructions', requestOf({ messages: [], system: [{ type: 'text', text: SECRET }] })],
    ['in the result of a tool', saying([{ type: 'tool_result', content: [{ type: 'text', text: SECRET }] }])],
    ['in the input of a tool', saying([{ type: 'tool_use', name: 'f', input: { deep: [{ deeper: SECRET }] } }])],
    [
      'in the arguments of a call',
      requestOf({ messages: [{ tool_calls: [{ function: { arguments: `{"a":"${SECRET}"}` } }] }] }),
    ],
    ['behind an escape of the JSON', saying(SECRET).replace('launch', '\\u006caunch')],
    ['behind other writing', saying(`你好，${SECRET} 👋`)],
  ]
  for (const [where, request] of PLACES) {
    test(where, () => expect(withoutQuotations(`no: ${SECRET}.`, request)).not.toContain('4711'))
  }
})

describe('a conversation', () => {
  const WITHHELD = 'its words may quote the prompt and are not stored'
  const ofLength = (length: number): string => saying('x'.repeat(length - saying('').length))

  test('that is just as long as may be is searched', () => {
    const request = ofLength(262_144)
    expect(request).toHaveLength(262_144)
    expect(withoutQuotations(`no: ${'x'.repeat(40)}.`, request)).toBe('no: ….')
  })

  test('that is longer is not searched, and nothing said of it is stored', () => {
    const words = withoutQuotations('temperature must be at most 2', ofLength(262_145))
    expect(words).toContain(WITHHELD)
    expect(words).not.toContain('temperature')
  })
})
