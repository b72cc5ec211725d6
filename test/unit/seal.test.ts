import { describe, expect, test } from 'bun:test'
import { createSealer } from '../../src/core/seal.ts'

const sealer = createSealer('a secret of the tests')

describe('what is sealed', () => {
  test('opens to what it was', () => {
    for (const text of ['', 'sk-vendor-0123456789', '密钥 🔑', 'x'.repeat(100_000)]) {
      expect(sealer.open(sealer.seal(text))).toBe(text)
    }
  })

  test('does not show what it holds, and looks different every time', () => {
    const text = 'sk-vendor-0123456789'
    const [first, second] = [sealer.seal(text), sealer.seal(text)]
    expect(first).not.toBe(second)
    expect(Buffer.from(first, 'base64').toString('latin1')).not.toContain(text)
  })

  test('cannot be opened with another secret', () => {
    expect(() => createSealer('another secret').open(sealer.seal('text'))).toThrow()
  })

  test('cannot be changed, at any byte', () => {
    const sealed = Buffer.from(sealer.seal('text'), 'base64')
    for (let place = 0; place < sealed.byteLength; place++) {
      const changed = Buffer.from(sealed)
      changed[place] = (changed[place] ?? 0) ^ 1
      expect(() => sealer.open(changed.toString('base64'))).toThrow()
    }
    expect(() => sealer.open('')).toThrow()
  })
})

describe('a signature', () => {
  test('is the same for the same text, and another with another secret', () => {
    expect(sealer.sign('token')).toBe(sealer.sign('token'))
    expect(sealer.sign('token')).not.toBe(sealer.sign('Token'))
    expect(sealer.sign('token')).not.toBe(createSealer('another secret').sign('token'))
  })
})
