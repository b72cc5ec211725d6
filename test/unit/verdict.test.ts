import { describe, expect, test } from 'bun:test'
import type { Failure } from '../../src/core/failure.ts'
import { verdict } from '../../src/upstream/verdict.ts'

const NOW = Date.parse('2026-11-15T12:00:00Z')
const MINUTE = 60_000

const judge = (status: number, headers: Record<string, string>): Failure =>
  verdict({ status, headers: new Headers(headers), body: '', now: NOW })

const restOf = (status: number, headers: Record<string, string>): number | undefined => {
  const failure = judge(status, headers)
  return 'restMs' in failure ? failure.restMs : undefined
}

describe('how long an upstream wants to be left alone', () => {
  const ROWS: [said: Record<string, string>, restMs: number | undefined][] = [
    [{}, undefined],
    [{ 'retry-after': '17' }, 17_000],
    [{ 'retry-after': ' 17 ' }, 17_000],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': '0.25' }, 250],
    [{ 'retry-after': 'Sun, 15 Nov 2026 12:01:30 GMT' }, 90_000],
    [{ 'retry-after': '2026-11-15T12:00:05Z' }, 5_000],
    [{ 'retry-after-ms': '1500' }, 1_500],
    [{ 'retry-after-ms': '1500', 'retry-after': '17' }, 1_500],
    [{ 'retry-after-ms': 'soon', 'retry-after': '17' }, 17_000],
    // A date that is over, on a clock that may be wrong.
    [{ 'retry-after': 'Sun, 15 Nov 2026 11:00:00 GMT' }, 0],
    // On its own word nobody is left alone for long.
    [{ 'retry-after': '86400' }, 10 * MINUTE],
    [{ 'retry-after': '999999999999' }, 10 * MINUTE],
    [{ 'retry-after': 'Sun, 15 Nov 2027 12:00:00 GMT' }, 10 * MINUTE],
    [{ 'retry-after-ms': '999999999999' }, 10 * MINUTE],
    // What says nothing is nothing.
    [{ 'retry-after': '' }, undefined],
    [{ 'retry-after': 'later' }, undefined],
    [{ 'retry-after': '-5' }, undefined],
    [{ 'retry-after': '1e9' }, undefined],
    [{ 'retry-after': '5s' }, undefined],
    [{ 'retry-after': 'Infinity' }, undefined],
    [{ 'retry-after': '9'.repeat(400) }, undefined],
  ]
  for (const status of [408, 409, 429, 500, 502, 503, 504, 529]) {
    test(`${status}: in seconds, milliseconds or a date, and never for longer than ten minutes`, () => {
      for (const [said, restMs] of ROWS) expect({ said, restMs: restOf(status, said) }).toEqual({ said, restMs })
    })
  }

  test('is not asked of refusals that waiting does not mend', () => {
    for (const status of [400, 401, 402, 403, 404, 413, 422]) {
      expect(judge(status, { 'retry-after': '17' })).not.toHaveProperty('restMs')
    }
  })
})

test('the caller of a limited upstream is told whole seconds of what the upstream said, at least one and at most a day', () => {
  const ROWS: [said: Record<string, string>, retryAfter: string][] = [
    [{ 'retry-after': '17' }, '17'],
    [{ 'retry-after': '86400' }, '86400'],
    [{ 'retry-after': ' 17 ' }, '17'],
    [{ 'retry-after': '1.2' }, '2'],
    [{ 'retry-after': '999999999999' }, '86400'],
    [{ 'retry-after-ms': '1500', 'retry-after': '17' }, '2'],
    [{ 'retry-after': 'Sun, 15 Nov 2026 12:01:30 GMT' }, '90'],
    [{ 'retry-after': 'Sun, 15 Nov 2027 12:00:00 GMT' }, '86400'],
    [{ 'retry-after': 'Sun, 15 Nov 2026 11:00:00 GMT' }, '1'],
    [{ 'retry-after': '0' }, '1'],
    [{ 'retry-after': '-5' }, '1'],
    [{ 'retry-after': '9'.repeat(400) }, '1'],
    [{ 'retry-after': 'later' }, '1'],
    [{}, '1'],
  ]
  for (const [said, retryAfter] of ROWS) {
    expect(judge(429, said)).toMatchObject({ kind: 'upstream-rate-limited', retryAfter })
  }
})
