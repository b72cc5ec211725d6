import { describe, expect, test } from 'bun:test'
import type { BreakerReport } from '../../src/routing/breakers.ts'
import { reportOf } from '../../src/routing/channel-report.ts'

const closed: BreakerReport = { state: 'closed', restsUntil: undefined, isRefused: false }
const open = (restsUntil: number, isRefused = false): BreakerReport => ({ state: 'open', restsUntil, isRefused })
const waiting: BreakerReport = { state: 'half-open', restsUntil: 10, isRefused: false }

describe('a channel as a whole', () => {
  for (const [title, own, keys, expected] of [
    ['is what it is itself, without keys', open(50), [], open(50)],
    ['is called as long as one key is', closed, [open(50, true), closed], closed],
    ['rests until its first key is back', closed, [open(50), open(30)], open(30)],
    ['rests as long as itself, if its keys are back before', open(80), [open(50), open(30)], open(80)],
    ['rests, whatever its keys do', open(80), [closed], open(80)],
    ['waits for the request that tries one of its keys', closed, [open(50), waiting], waiting],
    ['is refused when all its keys are', closed, [open(50, true), open(30, true)], open(30, true)],
    ['is not refused when one of them only rests', closed, [open(50, true), open(30)], open(30)],
  ] as const) {
    test(title, () => {
      const usableKeys = keys.map((_, place) => ({ id: String(place), secret: 'secret' }))
      const breakers = { of: () => own, ofKey: (_: string, id: string) => keys[Number(id)] ?? closed }
      expect(reportOf({ name: 'a', usableKeys }, breakers)).toEqual(expected)
    })
  }
})
