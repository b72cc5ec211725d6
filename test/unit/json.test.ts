import { describe, expect, test } from 'bun:test'
import { editMembers, members, rawAt, root } from '../../src/protocol/json.ts'
import { JsonProgress } from '../../src/protocol/json-progress.ts'
import { rawJson, stringify } from '../../src/protocol/raw-json.ts'

describe('edits on JSON text', () => {
  const TEXTS = [
    '{"model":"a","n":12345678901234567890,"2":1,"1":2}',
    ' { "x" : [1, {"model":"inner"}], "model" : "a" , "y" : "}\\"{" } ',
    '{"model":"a"}',
    '{\n\t"a": "\\\\",\n\t"model": null\n}\n',
  ]
  for (const text of TEXTS) {
    test(`replace one member and leave the rest as it was: ${text.trim().slice(0, 40)}`, () => {
      const edited = editMembers(text, { model: '"b"' })
      expect(JSON.parse(edited)).toEqual({ ...JSON.parse(text), model: 'b' })
      for (const { key, keyStart, end } of members(text, root(text))) {
        if (key !== 'model') expect(edited).toContain(text.slice(keyStart, end))
      }
    })

    test(`add and remove members: ${text.trim().slice(0, 40)}`, () => {
      const { model: _, ...rest } = JSON.parse(text)
      expect(JSON.parse(editMembers(text, { model: undefined, stream: 'true', more: '{"a":1}' }))).toEqual({
        ...rest,
        stream: true,
        more: { a: 1 },
      })
      expect(JSON.parse(editMembers(text, { model: undefined }))).toEqual(rest)
    })
  }

  test('of an object with a key twice leave one of it, the last', () => {
    const edited = editMembers('{"stream":true,"model":"x","model":"y","stream":false}', { model: '"z"' })
    expect(edited).toBe('{"stream":false,"model":"z"}')
  })

  test('of an empty object', () => {
    expect(editMembers('{}', { a: '1' })).toBe('{"a":1}')
    expect(editMembers('{ }', { a: undefined })).toBe('{}')
  })

  test('agree with parse, change, stringify on random objects', () => {
    let seed = 7
    const next = (below: number) => {
      seed = (seed * 1103515245 + 12345) % 2147483648
      return seed % below
    }
    const value = (depth: number): unknown => {
      const kind = next(depth > 3 ? 4 : 6)
      if (kind === 0) return next(1000) / 8
      if (kind === 1) return ['"', '\\', '}{', '],[', 'é😀', ''][next(6)]
      if (kind === 2) return next(2) === 0
      if (kind === 3) return null
      const size = next(4)
      if (kind === 4) return Array.from({ length: size }, () => value(depth + 1))
      return Object.fromEntries(Array.from({ length: size }, (_, place) => [`k${place}"\\`, value(depth + 1)]))
    }
    for (let round = 0; round < 2_000; round++) {
      const object = { a: value(0), b: value(0), c: value(0) }
      const text = JSON.stringify(object, null, next(3))
      expect(JSON.parse(editMembers(text, { b: '[1]', d: '2', a: undefined }))).toEqual({ b: [1], c: object.c, d: 2 })
    }
  })
})

test('the text of a member is found as it was written', () => {
  const text = '{"a":{"input":{"n":12345678901234567890, "2":1,"1":2}}}'
  expect(rawAt(text, root(text), 'a', 'input')).toBe('{"n":12345678901234567890, "2":1,"1":2}')
  expect(rawAt(text, root(text), 'a', 'missing')).toBeUndefined()
})

test('raw text is copied into what is written, and nothing a caller sends can pass for it', () => {
  const raw = rawJson('{"n":12345678901234567890}')
  expect(stringify({ a: [raw], b: undefined, c: '{"x":1}', d: null })).toBe(
    '{"a":[{"n":12345678901234567890}],"c":"{\\"x\\":1}","d":null}',
  )
  expect(stringify({ text: '{"n":1}' })).toBe('{"text":"{\\"n\\":1}"}')
})

describe('JSON that arrives in fragments', () => {
  const whole = '{"a":["}",{"b":"\\"]"}],"c":{}}'
  test('is complete at its last brace, wherever it is cut', () => {
    for (let cut = 0; cut <= whole.length; cut++) {
      const progress = new JsonProgress()
      expect(progress.accept(whole.slice(0, cut)) + progress.accept(whole.slice(cut))).toBe(whole)
      expect(progress.complete).toBe(true)
    }
  })

  test('ends there: what follows is noise', () => {
    const progress = new JsonProgress()
    expect(progress.accept(`${whole}{"again":1}`)).toBe(whole)
    expect(progress.accept('more')).toBe('')
  })
})
