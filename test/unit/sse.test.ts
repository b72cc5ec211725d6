import { describe, expect, test } from 'bun:test'
import { type Frame, SseReader } from '../../src/protocol/sse.ts'

const utf8 = new TextEncoder()

function read(...chunks: readonly Uint8Array[]): Frame[] {
  const reader = new SseReader()
  return [...chunks.flatMap(chunk => reader.push(chunk)), ...reader.end()]
}

const CASES: Record<string, { text: string; frames: Frame[] }> = {
  'named and unnamed frames': {
    text: 'event: a\ndata: {"x":1}\n\ndata: 2\n\n',
    frames: [
      { event: 'a', data: '{"x":1}' },
      { event: '', data: '2' },
    ],
  },
  'any line ending': {
    text: 'event: a\r\ndata: 1\r\n\r\ndata: 2\r\rdata: 3\n\n',
    frames: [
      { event: 'a', data: '1' },
      { event: '', data: '2' },
      { event: '', data: '3' },
    ],
  },
  'comments, other fields, events without data, data without a space, several data lines': {
    text: ': hello\nid: 7\nretry: 1\n\nevent: lonely\n\ndata:tight\n\ndata: a\ndata: b\n\ndata:\n\n',
    frames: [
      { event: '', data: 'tight' },
      { event: '', data: 'a\nb' },
    ],
  },
  'characters of several bytes, and a byte order mark': {
    text: '\ufeffdata: "汉字 😀 é"\n\n',
    frames: [{ event: '', data: '"汉字 😀 é"' }],
  },
  'a last frame without its blank line': {
    text: 'data: 1\n\ndata: [DONE]',
    frames: [
      { event: '', data: '1' },
      { event: '', data: '[DONE]' },
    ],
  },
}

describe('server-sent events are read alike, wherever their bytes are cut', () => {
  for (const [name, { text, frames }] of Object.entries(CASES)) {
    test(name, () => {
      const bytes = utf8.encode(text)
      expect(read(bytes)).toEqual(frames)
      for (let cut = 1; cut < bytes.length; cut++) expect(read(bytes.slice(0, cut), bytes.slice(cut))).toEqual(frames)
      expect(read(...[...bytes].map(byte => Uint8Array.of(byte)))).toEqual(frames)
    })
  }
})

test('a frame that never ends is refused before it fills the memory', () => {
  const reader = new SseReader()
  const piece = utf8.encode(`data: ${'x'.repeat(1024 * 1024)}`)
  expect(() => {
    for (let count = 0; count < 32; count++) reader.push(piece)
  }).toThrow('upstream-error')
})
