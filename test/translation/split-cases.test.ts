import { describe, expect, test } from 'bun:test'
import type { View } from '../../src/protocol/protocol.ts'
import { casesOf, pairOf } from './cases.ts'
import { chunkLines, eventLines, withMinted } from './frames.ts'
import { bytesOf, heard, passedOn, translated, viewOf, type Way } from './ways.ts'

/** Where a stream may not be cut in two; nothing when it makes no difference. */
function badPlaces(way: Way, view: View, bytes: Uint8Array): readonly number[] {
  const whole = heard(way, view, [bytes])
  const bad: number[] = []
  for (let at = 1; at < bytes.length; at++) {
    if (heard(way, view, [bytes.subarray(0, at), bytes.subarray(at)]) !== whole) bad.push(at)
  }
  return bad
}

const singly = (bytes: Uint8Array) => Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))

describe('where the bytes of an upstream are cut makes no difference, translated', () => {
  for (const each of casesOf('stream')) {
    test(`${each.id}: ${each.title}`, () => {
      const [way, view, bytes] = [translated(each), viewOf(each), bytesOf(each)]
      const whole = heard(way, view, [bytes])
      const expected = each.expected.client_events ?? each.expected.client_frames ?? []
      const lines = pairOf(each).client === 'messages' ? eventLines(whole) : chunkLines(whole)
      expect(withMinted(lines, expected)).toEqual([...expected])
      expect(badPlaces(way, view, bytes)).toEqual([])
      expect(heard(way, view, singly(bytes))).toBe(whole)
    })
  }
})

describe('where the bytes of an upstream are cut makes no difference, passed on to a client of its own kind', () => {
  for (const each of casesOf('stream')) {
    test(`${each.id}: ${each.title}`, () => {
      const [way, view, bytes] = [passedOn(pairOf(each).upstream), viewOf(each), bytesOf(each)]
      expect(badPlaces(way, view, bytes)).toEqual([])
      expect(heard(way, view, singly(bytes))).toBe(heard(way, view, [bytes]))
    })
  }
})
