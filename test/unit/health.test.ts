import { describe, expect, test } from 'bun:test'
import { percentile } from '../../src/core/percentile.ts'
import { Health, type Outcome } from '../../src/routing/health.ts'

const OK: Outcome = { channel: 'a', keyId: 'k', failure: undefined, durationMs: 10, firstByteMs: 5 }
const FAILED: Outcome = { ...OK, failure: { text: 'no', isAuth: false } }

function watch(...outcomes: Outcome[]) {
  let now = 0
  const health = new Health(() => now)
  for (const outcome of outcomes) {
    now++
    health.note(outcome)
  }
  return health
}

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value)

describe('what traffic says about an upstream', () => {
  const ROWS: [what: string, state: string, outcomes: Outcome[]][] = [
    ['nothing came', 'unused', []],
    ['answers only', 'healthy', times(3, OK)],
    ['3 failures among the latest 20', 'healthy', [...times(3, FAILED), ...times(17, OK)]],
    ['4 failures among the latest 20', 'degraded', [...times(4, FAILED), ...times(16, OK)]],
    ['failures longer ago', 'healthy', [...times(100, FAILED), ...times(20, OK)]],
    ['4 failures in a row', 'degraded', [...times(16, OK), ...times(4, FAILED)]],
    ['5 failures in a row', 'down', [...times(200, OK), ...times(5, FAILED)]],
    ['a refused credential', 'down', [...times(200, OK), { ...FAILED, failure: { text: 'no', isAuth: true } }]],
    ['an answer after that', 'healthy', [{ ...FAILED, failure: { text: 'no', isAuth: true } }, ...times(20, OK)]],
  ]
  for (const [what, state, outcomes] of ROWS) {
    test(`${what}: ${state}`, () => expect(watch(...outcomes).of('a').state).toBe(state as 'down'))
  }

  test('is remembered for the latest 200 calls', () => {
    const slow = { ...OK, durationMs: 99 }
    const { requests, errors, durationsMs } = watch(FAILED, ...times(150, OK), ...times(50, slow)).of('a')
    expect([requests, errors, durationsMs.length]).toEqual([200, 0, 200])
    expect([durationsMs[149], durationsMs[150]]).toEqual([10, 99])
  })

  test('is kept for each key', () => {
    const health = watch(OK, ...times(5, { ...FAILED, keyId: 'other' }))
    expect([health.of('a').state, health.ofKey('a', 'k').state, health.ofKey('a', 'other').state]).toEqual([
      'down',
      'healthy',
      'down',
    ])
    expect(health.of('a').downSince).toBe(2)
  })

  test('is no reason to call it down any longer when it answers an operator, or is resumed', () => {
    const resumed = {
      name: 'a',
      protocol: 'chat',
      baseUrl: 'one',
      isPaused: false,
      keys: [{ id: 'k', isPaused: false }],
    }
    const seenTo: ((health: Health) => void)[] = [
      health => health.forgive('a', 'k'),
      health => health.follow([{ ...resumed, isPaused: true }], [resumed]),
      health => health.follow([{ ...resumed, keys: [{ id: 'k', isPaused: true }] }], [resumed]),
    ]
    for (const see of seenTo) {
      const health = watch(...times(6, FAILED))
      see(health)
      expect([health.of('a').state, health.ofKey('a', 'k').state]).toEqual(['degraded', 'degraded'])
      expect(health.of('a').errors).toBe(6)
    }
  })

  test('is forgotten with the address, and for the sum of all keys with the keys', () => {
    const before = {
      name: 'a',
      protocol: 'chat',
      baseUrl: 'one',
      isPaused: false,
      keys: [{ id: 'k', isPaused: false }],
    }
    const keyed = watch(FAILED)
    keyed.follow([before], [{ ...before, keys: [...before.keys, { id: 'new', isPaused: false }] }])
    expect([keyed.of('a').requests, keyed.ofKey('a', 'k').requests]).toEqual([0, 1])
    const moved = watch(FAILED)
    moved.follow([before], [{ ...before, baseUrl: 'two' }])
    expect(moved.ofKey('a', 'k').requests).toBe(0)
    const same = watch(FAILED)
    same.follow([before], [before])
    expect(same.of('a').requests).toBe(1)
  })
})

test('a percentile is a value that occurred', () => {
  expect(percentile([], 50)).toBeUndefined()
  expect(percentile([7], 95)).toBe(7)
  expect(percentile([4, 1, 3, 2], 50)).toBe(2)
  expect(
    percentile(
      Array.from({ length: 100 }, (_, place) => 100 - place),
      95,
    ),
  ).toBe(95)
})
